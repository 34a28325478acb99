"""
Fetch the jars that an engine needs, each set once, as those of the broker are.

The name of a file of exact versions under `ivy/` arrives, paths of jars in the cache leave.
Real-time mode is compared with versions that are written down, not with whatever is newest today.
"""

from pathlib import Path

from examples.services import packages

IVY_FILES = Path(__file__).parent / "ivy"


def pinned(name: str) -> list[str]:
    """Return the Maven packages that are asked for, each as group:name:version."""
    return list(packages.pinned(IVY_FILES / f"{name}.xml").values())


def is_fetched(name: str) -> bool:
    """Tell whether the jars are in the cache."""
    return packages.is_fetched(IVY_FILES / f"{name}.xml")


def jars(name: str) -> tuple[Path, ...]:
    """Return the jars; raises RuntimeError with a reason in one line when they are neither cached nor to be fetched."""
    try:
        return packages.jars(IVY_FILES / f"{name}.xml")
    except RuntimeError as error:
        lines = [line.strip(": ") for line in str(error).splitlines()]
        # Ivy says at first which package is missing, and in its last line only that something was.
        told = next((line for line in lines if line.endswith("not found")), lines[-1])
        raise RuntimeError(f"Ivy cannot fetch {', '.join(pinned(name))}: {told}") from error
