"""Name the wheel extra of a missing package."""

from importlib.util import find_spec

HOW = "pip install 'spark-real-time-mode[{extra}]', or `make setup` in a checkout"


def require(part: str, extra: str, *packages: str) -> None:
    """Raise ModuleNotFoundError with the name of `extra` if a package is missing. Call this before the import."""
    for name in packages:
        if find_spec(name) is None:
            problem = f"spark_rtm.{part} needs the package {name!r}, which is not installed"
            raise ModuleNotFoundError(f"{problem}; run {HOW.format(extra=extra)}", name=name)
