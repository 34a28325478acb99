"""Tools and building blocks for Apache Spark real-time mode."""

import sys
from importlib.util import find_spec
from pathlib import Path

from spark_rtm.moved import MovedModules

sys.meta_path.append(MovedModules())
__version__ = "0.2.0"
DOCUMENTATION = "https://your-organization.github.io/spark-real-time-mode"
"""URL of the documentation site."""
HOW = "pip install 'spark-real-time-mode[{extra}]', or `make setup` in a checkout"


def page(path: str) -> str:
    """Return a page's path in a checkout or an installed skill, or the page's URL on the documentation site."""
    name, hash_sign, anchor = path.partition("#")
    if not name or Path(__file__).parents[1].joinpath(name).is_file():
        return path
    return f"{DOCUMENTATION}/{name.removesuffix('.md')}.html{hash_sign}{anchor}"


def require(part: str, extra: str, *packages: str) -> None:
    """Raise ModuleNotFoundError with an installation hint for `extra` if any of `packages` is missing."""
    for name in packages:
        if find_spec(name) is None:
            problem = f"spark_rtm.{part} requires the {name!r} package, which is not installed"
            raise ModuleNotFoundError(f"{problem}; run {HOW.format(extra=extra)}", name=name)


def require_or_exit(part: str, extra: str, *packages: str) -> None:
    """Exit with status 2 and an installation hint for `extra` if any of `packages` is missing."""
    try:
        require(part, extra, *packages)
    except ModuleNotFoundError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
