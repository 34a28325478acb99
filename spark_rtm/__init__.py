"""Tools and building blocks for Apache Spark real-time mode."""

import sys
from importlib.util import find_spec
from pathlib import Path

__version__ = "0.2.0"
DOCUMENTATION = ""
"""URL of the documentation site, or an empty string while the site has no address."""


def page(path: str) -> str:
    """
    Return where a page is: its path in a checkout or an installed skill, or its URL on the documentation site.

    For a wheel, while the site has no address, return the page's path in the clone that contains the wheel. Without
    such a clone, return the path with the words "in the repository".
    """
    name, hash_sign, anchor = path.partition("#")
    if not name or Path(__file__).parents[1].joinpath(name).is_file():
        return path
    if DOCUMENTATION:
        return f"{DOCUMENTATION}/{name.removesuffix('.md')}.html{hash_sign}{anchor}"
    from spark_rtm.origin import clone  # noqa: PLC0415  # only a wheel needs the module, which is slow to import

    folder = clone()
    return f"{folder / name}{hash_sign}{anchor}" if folder else f"{path} in the repository"


def how(extra: str) -> str:
    """Return how to install the packages of an extra, from where this package was installed."""
    if Path(__file__).parents[1].joinpath("Makefile").is_file():
        return f"run `make setup` in {Path(__file__).parents[1]}"
    from spark_rtm.origin import command  # noqa: PLC0415

    return f"run {command(extra)}"


def require(part: str, extra: str, *packages: str) -> None:
    """Raise ModuleNotFoundError with an installation hint for `extra` if any of `packages` is missing."""
    for name in packages:
        if find_spec(name) is None:
            problem = f"spark_rtm.{part} requires the {name!r} package, which is not installed"
            raise ModuleNotFoundError(f"{problem}; {how(extra)}", name=name)


def require_or_exit(part: str, extra: str, *packages: str) -> None:
    """Exit with status 2 and an installation hint for `extra` if any of `packages` is missing."""
    try:
        require(part, extra, *packages)
    except ModuleNotFoundError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
