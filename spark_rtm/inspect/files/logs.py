"""
Parse a checkpoint's logs: `metadata`, `offsets/`, `commits/` and the first offsets in `sources/`.

Spark plans batch N by writing `offsets/N` and commits it by writing `commits/N`.
A log file is either complete or missing, unless the machine failed or someone edited the file.
Error messages do not quote files, because a file may contain a secret.
"""

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from spark_rtm.inspect.files.folder import Entry, Folder, LocalFolder

T = TypeVar("T")

MAX_ENTRIES = 20
MAX_LONG = 2**63 - 1
MAX_VERSIONS = {"offsets": 2, "commits": 3}
"""Newest version of each log that OSS 4.3.0 supports. Newer versions fail with INVALID_LOG_VERSION."""
CHECKSUM_HEAD = 8
"""Header size of a checksum file: `crc`, a zero byte, and the block size in four bytes."""
MIN_BLOCK_BYTES = 512
"""Hadoop's default block size. Smaller blocks would use too much memory."""
VOID = "-"
"""Entry in `offsets/N` for a source without offsets."""
NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
"""Pattern for a number in a file name: ASCII digits without leading zeros."""
_JAVA_NUMBER = re.compile(r"[+-]?\d{1,19}")
QUERY_ID = re.compile("-".join(["[0-9a-fA-F]{1,8}"] + 3 * ["[0-9a-fA-F]{1,4}"] + ["[0-9a-fA-F]{1,12}"]))
_VERSION = re.compile(r"v([0-9]{1,9})")


class DamagedError(Exception):
    """Raised if a checkpoint file cannot be parsed."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path} {problem}")
        self.path = path


@dataclass(frozen=True)
class Planned:
    """A planned batch, from an entry in `offsets/`."""

    batch: int
    version: int
    sources: Mapping[str, Any]
    """End offsets by source; None for a source that has not read any record."""
    started_ms: int | None
    """Start time of the batch; None in continuous mode, which writes no metadata."""
    watermark_ms: int | None
    confs: Mapping[str, str]
    """Settings that override the session's settings after a restart."""
    written_seconds: float | None


@dataclass(frozen=True)
class Committed:
    """A committed batch, from an entry in `commits/`."""

    batch: int
    version: int
    state_ids: Mapping[str, Any] | None
    """State file ids by operator (format 2), or None if the entry lacks them."""
    written_seconds: float | None


@dataclass(frozen=True)
class Log:
    """The files in `offsets/` or `commits/`."""

    name: str
    entries: Mapping[int, Entry]
    """All complete entries by batch number, in ascending order."""
    unfinished: tuple[str, ...]
    """Temporary files that a query left because it ended during a write."""
    misnamed: str | None = None
    """A file name such as `007`, which Spark treats as the newest batch and then fails to find as `7`."""

    @property
    def bytes(self) -> int:
        """The total size of the entries."""
        return sum(entry.bytes for entry in self.entries.values())

    def newest(self) -> list[int]:
        """Return the batch numbers of the newest entries, up to `MAX_ENTRIES`."""
        return list(self.entries)[-MAX_ENTRIES:]


def read_log(folder: Folder, name: str) -> Log:
    """List the entries of a log without reading them."""
    found = folder.entries(name)
    numbers = sorted(int(entry) for entry in found if NUMBER.fullmatch(entry))
    unfinished = tuple(entry for entry in found if entry.endswith(".tmp"))
    others = {int(entry): entry for entry in found if _JAVA_NUMBER.fullmatch(entry) and not NUMBER.fullmatch(entry)}
    newest = max(others, default=-1)
    misnamed = others[newest] if max(numbers, default=-1) < newest <= MAX_LONG else None
    return Log(name, {number: found[str(number)] for number in numbers}, unfinished, misnamed)


def read_query_id(folder: Folder) -> str | None:
    """Return the query id from `metadata`, or None if the file is missing."""
    if "metadata" not in folder.entries():
        return None
    content = _json_object("metadata", _text(folder, "metadata"))
    if "id" not in content:
        raise DamagedError("metadata", "contains no id")
    if not QUERY_ID.fullmatch(str(content["id"])):
        raise DamagedError("metadata", "contains an id that is not a UUID")
    return str(content["id"])


def read_planned(folder: Folder, log: Log, batch: int, *, is_newest: bool) -> Planned:
    """Parse an entry in `offsets/`. Spark parses only the newest entry's offsets."""
    path = f"{log.name}/{batch}"
    version, metadata, lines = _head(path, _text(folder, path))
    if not lines:
        raise DamagedError(path, "ends before the offsets of the first source")
    if version > MAX_VERSIONS["offsets"]:
        return Planned(batch, version, {}, 0, None, {}, log.entries[batch].modified_seconds)
    content = _json_object(path, metadata) if metadata.strip() else {}
    sources = {}
    for number, line in enumerate(lines):
        # Version 2 contains source names: `name:offsets`.
        name, _, offsets = line.partition(":") if version >= 2 else (str(number), "", line)
        sources[name] = None if offsets == VOID else _offsets(path, offsets, is_newest=is_newest)
    # Spark treats a missing time as 0.
    started_ms = _field(path, {"batchTimestampMs": 0, **content}, "batchTimestampMs", int) if metadata.strip() else None
    return Planned(
        batch,
        version,
        sources,
        started_ms,
        _field(path, content, "batchWatermarkMs", int),
        {key: str(value) for key, value in (_field(path, content, "conf", dict) or {}).items()},
        log.entries[batch].modified_seconds,
    )


def read_committed(folder: Folder, log: Log, batch: int) -> Committed:
    """Parse an entry in `commits/`."""
    path = f"{log.name}/{batch}"
    version, metadata, _ = _head(path, _text(folder, path))
    content = _json_object(path, metadata) if version <= MAX_VERSIONS["commits"] and metadata.strip() else {}
    _field(path, content, "nextBatchWatermarkMs", int)
    ids = _field(path, content, "stateUniqueIds", dict) if version >= 2 else None
    return Committed(batch, version, ids, log.entries[batch].modified_seconds)


def has_stale_checksum(folder: Folder, path: str) -> bool:
    """Return whether a local file differs from its checksum file. Spark verifies no checksums in object stores."""
    parent, _, name = path.rpartition("/")
    checksum = f".{name}.crc"
    if not isinstance(folder, LocalFolder) or checksum not in folder.entries(parent):
        return False
    stored, content = folder.read(f"{parent}/{checksum}" if parent else checksum), folder.read(path)
    size = int.from_bytes(stored[4:CHECKSUM_HEAD])
    if not stored.startswith(b"crc\0") or size < MIN_BLOCK_BYTES:
        return False
    blocks = [content[start : start + size] for start in range(0, len(content), size)]
    sums = [zlib.crc32(block).to_bytes(4) for block in blocks]
    return stored[CHECKSUM_HEAD : CHECKSUM_HEAD + 4 * len(sums)] != b"".join(sums)


def first_offsets(folder: Folder, source: str) -> Any:
    """Return a source's first offsets, or None if the checkpoint does not contain them."""
    path = f"sources/{source}/0"
    if "0" not in folder.entries(f"sources/{source}"):
        return None
    # Spark writes a leading zero byte for compatibility with old versions.
    lines = _text(folder, path).lstrip("\0").splitlines()
    return _json(path, lines[1]) if len(lines) > 1 and _VERSION.fullmatch(lines[0]) else None


def _text(folder: Folder, path: str) -> str:
    content = folder.read(path)
    if not content:
        raise DamagedError(path, "is empty")
    try:
        return content.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise DamagedError(path, "is not text") from None


def _head(path: str, text: str) -> tuple[int, str, list[str]]:
    """Return a log file's version, metadata line and remaining lines."""
    first, *rest = text.removesuffix("\n").split("\n")
    match = _VERSION.fullmatch(first)
    if not match or int(match[1]) < 1:
        raise DamagedError(path, "does not begin with a version such as v1")
    return int(match[1]), "".join(rest[:1]), rest[1:]


def _json(path: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DamagedError(path, "contains a line that is not valid JSON") from None


def _offsets(path: str, text: str, *, is_newest: bool) -> Any:
    try:
        return _json(path, text)
    except DamagedError:
        if is_newest:
            raise
        return None


def _field(path: str, content: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    value = content.get(key)
    is_wrong = (
        not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, int) and abs(value) > MAX_LONG)
    )
    if value is not None and is_wrong:
        raise DamagedError(path, f"contains {str(value)[:60]!r} as {key}")
    return value


def _json_object(path: str, text: str) -> dict[str, Any]:
    content = _json(path, text)
    if not isinstance(content, dict):
        raise DamagedError(path, "contains JSON that is not an object")
    return content
