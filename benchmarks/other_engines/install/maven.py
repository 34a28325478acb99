"""Download the jars that an engine needs, at the exact versions in `../ivy/`, and keep them in the cache."""

from pathlib import Path

from spark_rtm.services import packages

IVY_FILES = Path(__file__).parents[1] / "ivy"


def pinned(name: str) -> list[str]:
    """Return the pinned Maven packages, each as group:name:version."""
    return list(packages.pinned(IVY_FILES / f"{name}.xml").values())


def is_downloaded(name: str) -> bool:
    """Return whether the cache contains the jars."""
    return packages.is_fetched(IVY_FILES / f"{name}.xml")


def jars(name: str) -> tuple[Path, ...]:
    """Return the jars; raise RuntimeError with a one-line reason if they cannot be downloaded."""
    try:
        return packages.jars(IVY_FILES / f"{name}.xml")
    except RuntimeError as error:
        lines = [line.strip(": ") for line in str(error).splitlines()]
        # The last line of Ivy's output does not name the missing package, but an earlier line does.
        reason = next((line for line in lines if line.endswith("not found")), lines[-1])
        raise RuntimeError(f"Ivy cannot download {', '.join(pinned(name))}: {reason}") from error
