"""Define a hostile case: its files, the command that reads them, and the changes that it may make."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

MARKER = "marker-of-a-secret"
"""The content of files outside the input, which no output may contain."""
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
    has_home: bool = True
    writes: tuple[str, ...] = ()
    """The folders that the command may change; files of Python in them stay valid."""
    is_complete: bool = False
    """Whether the command must check all of its input."""
    is_stranger: bool = False
    """Whether the command runs as a user who owns none of the files, if this process may switch users."""


def file(name: str, content: str | bytes) -> Build:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    return _at(name, lambda path: path.write_bytes(data))


def together(*builds: Build) -> Build:
    return lambda folder: [build(folder) for build in builds]


def link(name: str, target: str) -> Build:
    return _at(name, lambda path: path.symlink_to(target))


def pipe(name: str) -> Build:
    return _at(name, os.mkfifo)


def sparse(name: str, length: int) -> Build:
    def write(path: Path) -> None:
        with path.open("ab") as opened:
            opened.truncate(length)

    return _at(name, write, is_new=False)


def without_access(name: str) -> Build:
    return lambda folder: (folder / INPUT / name).chmod(0)


def _at(name: str, write: Build, *, is_new: bool = True) -> Build:
    def build(folder: Path) -> None:
        path = folder / INPUT / os.fsdecode(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_new:
            path.unlink(missing_ok=True)
        write(path)

    return build
