"""
List and read checkpoint files in a local folder or an object store.

The module reads only regular files of limited size inside the folder. Because another user may have created the folder,
the module neither writes files nor follows links. Only paths with a URL scheme require `fsspec`.
"""

import contextlib
import datetime
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

# A Windows drive is one letter, so a scheme has at least two.
SCHEME = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9+.-]+):/")
# Keys under which fsspec file systems report the modification time.
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "modified", "created")


MAX_BYTES = 10_000_000
"""Maximum file size. Log files are much smaller: 10,000 Kafka partitions need 0.3 MB."""
MAX_FILES = 1_000_000


class UnreadableError(Exception):
    """Raised if a folder cannot be inspected."""


@dataclass(frozen=True)
class Entry:
    """A file or folder in a listing."""

    is_folder: bool
    bytes: int
    modified_seconds: float | None
    """Modification time in seconds since 1970, or None if the store reports no times."""


@dataclass(frozen=True)
class LocalFolder:
    """A folder on this machine."""

    root: Path

    def entries(self, path: str = "") -> dict[str, Entry]:
        """Return the entries of a subfolder by name, or an empty dictionary if the subfolder does not exist."""
        folder = self._inside(path)
        if not folder.is_dir():
            return {}
        found = {}
        for child in sorted(folder.iterdir()):
            # A running query can delete files at any time.
            with contextlib.suppress(FileNotFoundError):
                status = child.lstat()
                found[child.name] = Entry(stat.S_ISDIR(status.st_mode), status.st_size, status.st_mtime)
        return found

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        file = self._inside(path)
        # Without O_NONBLOCK, opening a named pipe waits for a writer.
        with open(file, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise UnreadableError(f"{file} is not a regular file, so nothing was inspected; pass a checkpoint")
            return _limited(opened.read(MAX_BYTES + 1), str(file))

    def _inside(self, path: str) -> Path:
        """Return a file's absolute path. Raise `UnreadableError` for a link or a path outside the folder."""
        place = self.root
        for name in path.split("/") if path else ():
            place /= name
            if name in {"", ".", ".."} or place.is_symlink():
                raise UnreadableError(
                    f"{place} is a symbolic link or is outside the checkpoint, so nothing was inspected; replace "
                    "symbolic links with the files to which they point"
                )
        return place


@dataclass(frozen=True)
class StoreFolder:
    """A folder in an fsspec file system."""

    system: Any
    root: str

    def entries(self, path: str = "") -> dict[str, Entry]:
        """Return the entries of a subfolder by name, or an empty dictionary if the subfolder does not exist."""
        folder = f"{self.root}/{path}".rstrip("/")
        try:
            with _reported(folder):
                found = self.system.ls(folder, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        # Some stores list a folder as an entry of itself.
        return {
            info["name"].rstrip("/").rsplit("/", 1)[-1]: _entry(info)
            for info in sorted(found, key=lambda info: str(info["name"]))
            if info["name"].strip("/") != folder.strip("/")
        }

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        with _reported(path):
            return _limited(bytes(self.system.cat_file(f"{self.root}/{path}", end=MAX_BYTES + 1)), path)


Folder = LocalFolder | StoreFolder


def open_folder(target: str) -> Folder:
    """Open the folder at a path or URL. Raise `UnreadableError` if the folder is missing or unreachable."""
    scheme = SCHEME.match(target)
    if scheme and scheme["name"].lower() != "file":
        return _open_store(target)
    path = Path(unquote(urlsplit(target).path)) if scheme else Path(target)
    if not path.exists():
        raise UnreadableError(f"{target} does not exist, so nothing was inspected; check the path")
    if not path.is_dir():
        raise UnreadableError(f"{target} is a file, but a checkpoint is a folder; pass the value of checkpointLocation")
    return LocalFolder(path)


def walk(folder: Folder, path: str = "") -> Iterator[tuple[str, Entry]]:
    """Yield the path and entry of each file below a subfolder. Raise `UnreadableError` if there are too many files."""
    for number, found in enumerate(_walk(folder, path)):
        if number == MAX_FILES:
            raise UnreadableError(
                f"{path} has more than {MAX_FILES:,} files, so nothing was inspected; pass a folder with fewer files"
            )
        yield found


def _walk(folder: Folder, path: str) -> Iterator[tuple[str, Entry]]:
    for name, entry in folder.entries(path).items():
        child = f"{path}/{name}" if path else name
        if entry.is_folder:
            yield from _walk(folder, child)
        else:
            yield child, entry


def _limited(content: bytes, path: str) -> bytes:
    if len(content) > MAX_BYTES:
        raise UnreadableError(
            f"{path} has more than {MAX_BYTES:,} bytes, so it is not a checkpoint file and nothing was inspected; "
            "pass a checkpoint"
        )
    return content


def _open_store(target: str) -> Folder:
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - local checkpoints need no packages
    except ModuleNotFoundError:
        raise UnreadableError(
            f"{target} is in an object store, and reading it requires the fsspec package; "
            "run `pip install fsspec` with the store's package (s3fs, gcsfs or adlfs), or copy the folder to  "
            "this machine"
        ) from None
    with _reported(target):
        system, root = url_to_fs(target)
        exists = system.isdir(root)
    if not exists:
        raise UnreadableError(f"{target} does not exist or is empty, so nothing was inspected; check the path")
    return StoreFolder(system, root.rstrip("/"))


@contextlib.contextmanager
def _reported(target: str) -> Iterator[None]:
    """Convert object store exceptions, whose types differ between stores, to `UnreadableError`."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, UnreadableError):
        raise
    except (ImportError, ValueError) as error:
        raise UnreadableError(f"cannot open {target}: {error}; check the address") from error
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise UnreadableError(f"cannot read {target} ({problem}); check the address and the credentials") from error


def _entry(info: Mapping[str, Any]) -> Entry:
    moment = next((info[key] for key in _TIMES if info.get(key) is not None), None)
    if isinstance(moment, str):
        moment = datetime.datetime.fromisoformat(moment)
    if isinstance(moment, datetime.datetime):
        moment = moment.timestamp()
    seconds = float(moment) if isinstance(moment, int | float) else None
    return Entry(info["type"] == "directory", int(info.get("size") or 0), seconds)
