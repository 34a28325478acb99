"""Report which extra of the wheel contains a missing package."""

import sys
from importlib.util import find_spec

HOW = "pip install 'spark-real-time-mode[{extra}]', or `make setup` in a checkout"


def require(part: str, extra: str, *packages: str) -> None:
    """Raise ModuleNotFoundError with the name of `extra` if a package is missing. Call this before the import."""
    for name in packages:
        if find_spec(name) is None:
            problem = f"spark_rtm.{part} needs the package {name!r}, which is not installed"
            raise ModuleNotFoundError(f"{problem}; run {HOW.format(extra=extra)}", name=name)


def require_or_exit(part: str, extra: str, *packages: str) -> None:
    """End a program with status 2 and the name of `extra` if a package is missing. Call this before the import."""
    try:
        require(part, extra, *packages)
    except ModuleNotFoundError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
