"""Measure the state files of a checkpoint, and find missing ones."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spark_rtm.inspect.files.folder import Folder, walk
from spark_rtm.inspect.files.logs import NUMBER, DamagedError

MAX_PARTITIONS = 100_000
DEFAULT_STORE = "default"
# Format 1 names a file by its version, format 2 by its version and an id.
_FILE = re.compile(r"(?P<version>[0-9]{1,19})(?:_(?P<id>[0-9a-f-]+))?\.(?P<kind>delta|snapshot|changelog|zip)")
# A file with the changes of one batch, as opposed to a snapshot of the whole state.
_CHANGES = ("delta", "changelog")


@dataclass(frozen=True)
class Operator:
    """The state of one stateful operator."""

    number: int
    name: str
    """Spark's name, for example `stateStoreSave`."""
    stores: tuple[str, ...]
    partitions: int
    files: int
    bytes: int
    versions: tuple[int, int] | None
    changes_bytes: Mapping[int, int]
    missing: tuple[str, ...]
    """Folders without the state of the last committed batch."""
    gaps: tuple[str, ...] = ()
    """Folders that lack a version between the newest snapshot and the last committed batch."""
    empty: tuple[str, ...] = ()


def read_operators(folder: Folder, last_batch: int | None, state_ids: Mapping[str, Any] | None) -> list[Operator]:
    """Return the state of each operator. `state_ids` belong to `last_batch`, the last committed batch."""
    numbers = sorted(int(name) for name in folder.entries("state") if NUMBER.fullmatch(name))
    return [_read_operator(folder, number, last_batch, (state_ids or {}).get(str(number))) for number in numbers]


def _read_operator(folder: Folder, number: int, last_batch: int | None, ids: Any) -> Operator:
    name, stores, partitions = _metadata(folder, number)
    # Most metadata keep the first number of partitions when Spark rewrites the state for another number.
    partitions = len(ids) if isinstance(ids, list) else partitions
    files = list(walk(folder, f"state/{number}"))
    changes: Counter[int] = Counter()
    present: dict[str, list[re.Match[str]]] = {}
    for path, entry in files:
        parent, _, file = path.rpartition("/")
        if match := _FILE.fullmatch(file):
            present.setdefault(parent, []).append(match)
            changes[int(match["version"])] += entry.bytes if match["kind"] in _CHANGES else 0
    last = -1 if last_batch is None else last_batch + 1
    missing, gaps = [], []
    for parent, start in _expected(number, stores, partitions, last, ids) if last >= 0 else ():
        matches = present.get(parent, [])
        if not any(match[0].startswith(start) for match in matches):
            missing.append(parent)
        elif (gap := _gap(matches, last)) is not None:
            gaps.append(f"version {gap} in {parent}")
    return Operator(
        number,
        name,
        stores,
        partitions,
        files=len(files),
        bytes=sum(entry.bytes for _, entry in files),
        versions=(min(changes), max(changes)) if changes else None,
        changes_bytes=dict(changes),
        missing=tuple(missing),
        gaps=tuple(gaps),
        empty=tuple(path for path, entry in files if entry.bytes == 0 and _is_read(path, last)),
    )


def _gap(matches: Iterable[re.Match[str]], last: int) -> int | None:
    versions: dict[bool, set[int]] = {True: set(), False: set()}
    for match in matches:
        versions[match["kind"] in _CHANGES].add(int(match["version"]))
    start = max((version for version in versions[False] if version <= last), default=0)
    return next((version for version in range(last, start, -1) if version not in versions[True]), None)


def _is_read(path: str, last: int) -> bool:
    name = path.rpartition("/")[2]
    match = _FILE.fullmatch(name)
    return name == "schema" or (match is not None and int(match["version"]) == last)


def _expected(
    number: int, stores: tuple[str, ...], partitions: int, version: int, ids: Any
) -> Iterator[tuple[str, str]]:
    """Yield the folder of each state store, and the prefix of the name of its file with this state version."""
    for partition in range(partitions):
        for index, store in enumerate(stores):
            folder = f"state/{number}/{partition}" + ("" if store == DEFAULT_STORE else f"/{store}")
            try:
                yield folder, f"{version}_{ids[partition][index]}." if ids else f"{version}."
            except (LookupError, TypeError):
                yield folder, f"{version}_"


def _metadata(folder: Folder, number: int) -> tuple[str, tuple[str, ...], int]:
    # Most operators have one file; transformWithState has one per batch that changed it.
    files = {_batch_of(path): path for path, _ in walk(folder, f"state/{number}/_metadata")}
    if not (batches := [batch for batch in files if batch is not None]):
        return "unknown operator", (), 0
    path = files[max(batches)]
    try:
        content = json.loads(folder.read(path).decode().partition("\n")[2])
        stores = content["stateStoreInfo"]
        stored = tuple(str(store["storeName"]) for store in stores)
        partitions = max(int(store["numPartitions"]) for store in stores)
        if partitions * len(stored) > MAX_PARTITIONS:
            raise DamagedError(path, f"states {partitions} partitions of {len(stored)} stores")
        return str(content["operatorInfo"]["operatorName"]), stored, partitions
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        raise DamagedError(path, f"does not describe a stateful operator ({type(error).__name__})") from None


def _batch_of(path: str) -> int | None:
    name = path.rpartition("/")[2]
    if name == "metadata":
        return -1
    return int(name) if NUMBER.fullmatch(name) else None
