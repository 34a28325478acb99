"""Define a hostile case: its files, the command that reads them, and the changes that it may make."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MARKER = "marker-of-a-secret"
"""The text of files outside the input, which no output may contain."""
SECRET = f"# spark realTime {MARKER}\n"
INPUT, OUTSIDE, HOME = "input", "outside", "home"
"""The folders of a case: the input, files beside it, and the home folder of the user."""
Build = Callable[[Path], object]
"""Writes the files of a case into its folder, which contains the three folders above."""


@dataclass(frozen=True)
class Case:
    name: str
    arguments: Sequence[str]
    build: Build
    statuses: frozenset[int] = frozenset({0, 1, 2})
    named: Sequence[str] = ()
    """Texts that the output must contain, such as names of relevant files."""
    stdin: bytes = b""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Variables to set, or to delete if the value is None."""
    writes: tuple[str, ...] = ()
    """The folders that the command may change; files of Python in them stay valid."""
    is_complete: bool = False
    """Whether everything must be checked."""
    is_stranger: bool = False
    """Whether the command runs as a user who owns none of the files, if this process may switch users."""


def file(name: str, content: str | bytes) -> Build:
    def write(folder: Path) -> None:
        path = folder / INPUT / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))

    return write


def together(*builds: Build) -> Build:
    def write(folder: Path) -> None:
        for build in builds:
            build(folder)

    return write


def link(name: str, target: str) -> Build:
    def write(folder: Path) -> None:
        path = folder / INPUT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    return write


def pipe(name: str) -> Build:
    def write(folder: Path) -> None:
        path = folder / INPUT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    return write


def sparse(name: str, length: int) -> Build:
    def write(folder: Path) -> None:
        path = folder / INPUT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as opened:
            opened.truncate(length)

    return write


def without_access(name: str) -> Build:
    return lambda folder: (folder / INPUT / name).chmod(0)
