"""Find and read the files to lint."""

# ruff: noqa: PTH110, PTH112, PTH113, PTH114, PTH118, PTH122
# For a path below an inaccessible folder, `os.path` functions return False, while `Path` methods raise an error.

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from os.path import commonpath, exists, isdir, isfile, islink, join, lexists, realpath, splitext
from pathlib import Path
from typing import BinaryIO

from spark_rtm.lint.files.formats import SUFFIXES
from spark_rtm.lint.problem import Problem, UncheckedError
from spark_rtm.lint.spark.intervals import min_batch_ms_in

CACHES = {".git", ".venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache",
          ".hypothesis", ".tox"}  # fmt: skip
"""Names of folders to skip at any level, as well as folders with a `pyvenv.cfg`."""
OUTPUTS = {"build", "dist", "site", "spark-warehouse"}
"""Names of folders to skip only directly below a given folder, because deeper source folders can have these names."""
MARK = "\ufeff"
"""Byte order mark that some editors write before UTF-8 text."""
MAX_BYTES = 2_000_000
MAX_SEARCHED_BYTES = 100_000_000
"""Maximum size of a file to search. Larger files are treated as relevant."""
RELEVANT = re.compile(
    r"real[-_ ]?time|\brtm\b|[-_]rtm\b|\brtm[-_]|continuous|asyncProgress|ForeachWriter", re.IGNORECASE
)
ABOUT_MODE = re.compile(r"real[-_ ]?time[-_ ]?mode|realTime|\brtm\b|[-_]rtm\b|\brtm[-_]", re.IGNORECASE)
"""Pattern for texts that are reported if they cannot be checked. `continuous` or `real-time` alone is too common."""
RTM = re.compile(r"\brtm\b")
NEEDLES = ("realtime", "real-time", "real_time", "real time", "rtm", "continuous", "asyncprogress", "foreachwriter")
"""
Each relevant text contains one of these strings in lower case. This search is ten times faster than `RELEVANT`.
"""
CODE = {".py", ".scala", ".java"}
SPARK_NEEDLES = ("spark", "readstream", "writestream", "datastreamwriter", ".outputmode(", "databricks", "display(")
CODE_NEEDLES = ("trigger", "realtime", "real-time mode", "real time mode", "real-time quer",
                "asyncprogress", "foreachwriter")  # fmt: skip
OVERLAP = 50

Unchecked = list[tuple[Path, Problem]]


@dataclass
class Sources:
    """The relevant files, the unchecked files, and settings in single files that apply to all files."""

    paths: list[Path] = field(default_factory=list)
    given: dict[Path, str] = field(default_factory=dict)
    """The text from standard input, by its assumed file name."""
    unchecked: Unchecked = field(default_factory=list)
    min_batch_ms: float | None = None
    micro_batch: list[Path] = field(default_factory=list)
    """Files that contain streaming queries, but do not mention real-time mode."""
    count: int = 0
    """Number of files that were read or could not be read."""

    def original(self, path: Path) -> str:
        """Return a file's text with its original line endings and byte order mark."""
        return self.given[path] if path in self.given else read_original(path)

    def texts(self) -> Iterator[tuple[Path, str]]:
        """Yield each relevant path with its normalized text."""
        for path in self.paths:
            try:
                yield path, normalized(self.original(path))
            except UncheckedError as error:  # the file has changed since the search
                self.unchecked.append((path, error.problem))


def read_sources(roots: list[Path], excludes: Callable[[Path], bool], *, as_real_time: bool = False) -> Sources:
    """Read the given files and folders, except excluded paths."""
    sources = Sources()
    minima: list[float | None] = []
    for path in _files(roots, sources.unchecked, excludes):
        sources.count += 1
        try:
            text = read_text(path)
            suffix = path.suffix.lower()
            sources.micro_batch += [path] if is_micro_batch(text, suffix) else []
            if is_relevant(text, suffix) or (as_real_time and is_micro_batch(text, suffix)):
                sources.paths.append(path)
                minima.append(min_batch_ms_in(text) if path.suffix == ".py" else None)
        except UncheckedError as error:
            sources.unchecked.append((path, error.problem))
    sources.min_batch_ms = min((value for value in minima if value), default=None)
    return sources


def is_relevant(text: str, suffix: str) -> bool:
    """Return whether a text may be about real-time mode. Code must also mention Spark and a checked API."""
    low = text.lower()
    if not any(needle in low for needle in NEEDLES) or not RELEVANT.search(text):
        return False
    if suffix not in CODE:
        return True
    is_spark = "realTime" in text or any(needle in low for needle in SPARK_NEEDLES)
    return is_spark and (any(needle in low for needle in CODE_NEEDLES) or bool(RTM.search(low)))


def is_micro_batch(text: str, suffix: str) -> bool:
    """Return whether code writes streams, but does not mention a real-time trigger."""
    return suffix in {*CODE, ".ipynb"} and "writeStream" in text and "realtime" not in text.lower()


def read_text(path: Path) -> str:
    """Return a regular file's normalized text, or an empty string if the file needs no check."""
    return normalized(read_original(path))


def normalized(text: str) -> str:
    """Return a text without byte order mark, and with line feeds as the only line endings."""
    return text.removeprefix(MARK).replace("\r\n", "\n").replace("\r", "\n")


def read_original(path: Path) -> str:
    """Return a regular file's original text, or an empty string if the file needs no check."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UncheckedError("this is not a regular file, so it was not read", "pass other paths")
        with path.open("rb") as file:
            return _text(file)
    except OSError as error:
        reason = f"the file cannot be read ({error.strerror}), so it was not checked"
        raise UncheckedError(reason, "change the file's permissions, or pass other paths") from error


def _text(file: BinaryIO) -> str:
    data = file.read(MAX_BYTES + 1)
    is_long = len(data) > MAX_BYTES
    if not is_long and b"\0" not in data:  # text with zero bytes is UTF-16 without a byte order mark
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode("utf-8")
    if not _is_relevant(data, file):
        return ""
    if is_long:
        raise UncheckedError(f"the file has more than {MAX_BYTES:,} bytes, so it was not checked", "split the file")
    raise UncheckedError("the file is not encoded in UTF-8, so it was not checked", "convert the file to UTF-8")


def _is_relevant(first: bytes, file: BinaryIO) -> bool:
    """Return whether a file that is too long or not UTF-8 may be about real-time mode."""
    end = b""
    for data in chain([first], iter(partial(file.read, MAX_BYTES), b"")):
        # In UTF-16, each ASCII letter has a zero byte.
        text = (end + data).replace(b"\0", b"").decode("ascii", "replace")
        if ABOUT_MODE.search(text) or file.tell() >= MAX_SEARCHED_BYTES:
            return True
        end = data[-OVERLAP:]
    return False


def _files(roots: list[Path], problems: Unchecked, excludes: Callable[[Path], bool]) -> Iterator[Path]:
    real_roots = [realpath(root) for root in roots]
    for root in roots:
        if not isdir(root):
            yield from [root] if lexists(root) and not excludes(root) else []
            continue
        for path in _files_below(root, problems, excludes):
            if not islink(path) or any(commonpath([realpath(path), real]) == real for real in real_roots):
                yield path
            elif _may_be_relevant(path):
                reason = "this link points to a file outside the given folders, so the file was not checked"
                problems.append((path, Problem(1, reason, "pass the file itself")))


def _may_be_relevant(path: Path) -> bool:
    try:
        return is_relevant(read_text(path), path.suffix.lower())
    except UncheckedError:
        return True


def _files_below(root: Path, problems: Unchecked, excludes: Callable[[Path], bool]) -> Iterator[Path]:
    waiting = [root]
    while waiting:  # in Python 3.11, `os.walk` fails on a thousand nested folders
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            reason = f"the folder cannot be read ({error.strerror}), so its files were not checked"
            problems.append((folder, Problem(1, reason, "change the folder's permissions, or pass other paths")))
            continue
        skipped = CACHES | OUTPUTS if folder == root else CACHES
        folders = [each.path for each in entries if each.is_dir(follow_symlinks=False) and each.name not in skipped]
        inner = [Path(path) for path in folders if not isfile(join(path, "pyvenv.cfg"))]
        waiting += [path for path in reversed(inner) if not excludes(path)]
        names = [each.path for each in entries if splitext(each.name)[1].lower() in SUFFIXES]
        # Do not follow links to folders, and do not read broken links.
        paths = [Path(name) for name in names if exists(name) and not isdir(name)]
        yield from (path for path in paths if not excludes(path))
