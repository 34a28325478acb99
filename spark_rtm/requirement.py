"""Say which extra of the wheel a missing package belongs to."""

from importlib.util import find_spec

HOW = "pip install 'spark-real-time-mode[{extra}]', or `make setup` in a checkout"


def require(part: str, extra: str, *packages: str) -> None:
    """Raise ModuleNotFoundError that names `extra` if one of the packages is missing; call it before their import."""
    for name in packages:
        if find_spec(name) is None:
            problem = f"spark_rtm.{part} needs the package {name!r}, which is not installed"
            raise ModuleNotFoundError(f"{problem}; {HOW.format(extra=extra)}", name=name)
