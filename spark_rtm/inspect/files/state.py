"""Measure a checkpoint's state files, and find missing files."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spark_rtm.inspect.files.folder import MAX_BYTES, Folder, LocalFolder, walk
from spark_rtm.inspect.files.logs import NUMBER, DamagedError, has_stale_checksum

MAX_PARTITIONS = 100_000
DEFAULT_STORE = "default"
# In format 1, a file name contains the version. In format 2, the file name contains the version and an id.
_FILE = re.compile(r"(?P<version>[0-9]{1,19})(?:_(?P<id>[0-9a-f-]+))?\.(?P<kind>delta|snapshot|changelog|zip)")
# Suffixes of files that contain one batch's changes rather than a snapshot of the whole state.
_CHANGES = ("delta", "changelog")


@dataclass(frozen=True)
class Operator:
    """The state files of a stateful operator."""

    number: int
    name: str
    """Spark's operator name, for example `stateStoreSave`."""
    stores: tuple[str, ...]
    partitions: int
    files: int
    bytes: int
    versions: tuple[int, int] | None
    changes_bytes: Mapping[int, int]
    missing: tuple[str, ...]
    """Folders that lack the last committed batch's state."""
    gaps: tuple[str, ...] = ()
    """Folders that lack a version between the newest snapshot and the last committed batch."""
    empty: tuple[str, ...] = ()
    """Files that Spark reads when the query starts, but that are empty or differ from their checksum files."""


def read_operators(folder: Folder, version: int, state_ids: Mapping[str, Any] | None) -> list[Operator]:
    """Return each operator's state. Queries start with state `version`. `state_ids` are the last commit's file ids."""
    numbers = sorted(int(name) for name in folder.entries("state") if NUMBER.fullmatch(name))
    return [_read_operator(folder, number, version, (state_ids or {}).get(str(number))) for number in numbers]


def _read_operator(folder: Folder, number: int, last: int, ids: Any) -> Operator:
    name, stores, partitions = _metadata(folder, number)
    # After Spark rewrites the state, most metadata files still contain the original partition count.
    partitions = len(ids) if isinstance(ids, list) else partitions
    sizes = {path: entry.bytes for path, entry in walk(folder, f"state/{number}")}
    changes: Counter[int] = Counter()
    present: dict[str, list[re.Match[str]]] = {}
    for path, size in sizes.items():
        parent, _, file = path.rpartition("/")
        if match := _FILE.fullmatch(file):
            present.setdefault(parent, []).append(match)
            changes[int(match["version"])] += size if match["kind"] in _CHANGES else 0
    missing, gaps = list[str](), list[str]()
    damaged = [path for path in sizes if path.endswith("_metadata/schema") and folder.read(path)[2:3] != b"v"]
    for parent, start in _expected(number, stores, partitions, last, ids) if last > 0 else ():
        files = _files_read(present.get(parent, []), start, last)
        if not files[last]:
            missing.append(parent)
        elif gap := next((version for version, names in files.items() if not names), None):
            gaps.append(f"version {gap} in {parent}")
        paths = [[f"{parent}/{name}" for name in names] for names in files.values() if names]
        damaged += [names[0] for names in paths if all(_is_cut(folder, name, sizes) for name in names)]
    return Operator(
        number,
        name,
        stores,
        partitions,
        files=len(sizes),
        bytes=sum(sizes.values()),
        versions=(min(changes), max(changes)) if changes else None,
        changes_bytes=dict(changes),
        missing=tuple(missing),
        gaps=tuple(gaps),
        empty=tuple(damaged),
    )


def _files_read(matches: Sequence[re.Match[str]], start: str, last: int) -> dict[int, list[str]]:
    """Return each version's files from the newest snapshot to `last`. Files of version `last` begin with `start`."""
    first = max((int(match["version"]) for match in matches if _is_snapshot(match, start, last)), default=1)
    present: dict[int, list[str]] = {}
    for match in matches:
        if (version := int(match["version"])) < last or match[0].startswith(start):
            present.setdefault(version, []).append(match[0])
    files, version = {last: present.get(last, [])}, last
    while version > first and files[version]:  # stops at a gap, because an invalid name may have 19 digits
        version -= 1
        files[version] = present.get(version, [])
    return files


def _is_snapshot(match: re.Match[str], start: str, last: int) -> bool:
    version = int(match["version"])
    return match["kind"] not in _CHANGES and (version < last or match[0].startswith(start))


def _is_cut(folder: Folder, path: str, sizes: Mapping[str, int]) -> bool:
    """Return whether a file is empty or differs from its checksum file. Object stores contain no partial files."""
    checksum = f"{path}.crc"
    if not sizes[path] or not isinstance(folder, LocalFolder):
        return not sizes[path]
    if checksum not in sizes:  # only RocksDB writes this file
        return sizes[path] <= MAX_BYTES and has_stale_checksum(folder, path)
    try:
        return bool(json.loads(folder.read(checksum))["mainFileSize"] != sizes[path])
    except (ValueError, LookupError, TypeError):
        return True


def _expected(
    number: int, stores: tuple[str, ...], partitions: int, version: int, ids: Any
) -> Iterator[tuple[str, str]]:
    """Yield each state store's folder, and the prefix of the file name that contains this state version."""
    for partition in range(partitions):
        for index, store in enumerate(stores):
            folder = f"state/{number}/{partition}" + ("" if store == DEFAULT_STORE else f"/{store}")
            try:
                yield folder, f"{version}_{ids[partition][index]}." if ids else f"{version}."
            except (LookupError, TypeError):
                yield folder, f"{version}_"


def _metadata(folder: Folder, number: int) -> tuple[str, tuple[str, ...], int]:
    # Most operators have one metadata file; transformWithState has one per batch that changed the schema.
    files = {_batch_of(path): path for path, _ in walk(folder, f"state/{number}/_metadata")}
    if not (batches := [batch for batch in files if batch is not None]):
        if "_stateSchema" in folder.entries(f"state/{number}"):
            problem = "is missing, so the query cannot start (STDS_FAILED_TO_READ_OPERATOR_METADATA)"
            raise DamagedError(f"state/{number}/_metadata", problem)
        return "unknown operator", (), 0
    path = files[max(batches)]
    try:
        content = json.loads(folder.read(path).decode().partition("\n")[2])
        stores = content["stateStoreInfo"]
        stored = tuple(str(store["storeName"]) for store in stores)
        partitions = max(int(store["numPartitions"]) for store in stores)
        if partitions * len(stored) > MAX_PARTITIONS:
            raise DamagedError(path, f"contains {partitions} partitions for {len(stored)} stores")
        return str(content["operatorInfo"]["operatorName"]), stored, partitions
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        if max(batches) >= 0:  # Spark reads this file only for transformWithState
            raise DamagedError(path, f"does not describe a stateful operator ({type(error).__name__})") from None
        return "unreadable operator", (), 0


def _batch_of(path: str) -> int | None:
    name = path.rpartition("/")[2]
    if name == "metadata":
        return -1
    return int(name) if NUMBER.fullmatch(name) else None
