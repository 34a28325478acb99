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
"""Maximum number of state partitions per operator."""
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
    """Oldest and newest version with files."""
    changes_bytes: Mapping[int, int]
    """Size of the changes by version, over all partitions."""
    missing: tuple[str, ...]
    """Folders without the state of the last committed batch."""
    gaps: tuple[str, ...] = ()
    """Folders that lack a version between the newest snapshot and the last committed batch."""
    empty: tuple[str, ...] = ()
    """Empty files that a start reads."""


def read_operators(folder: Folder, last_batch: int | None, state_ids: Mapping[str, Any] | None) -> list[Operator]:
    """Return the state of each operator. `state_ids` belong to `last_batch`, the last committed batch."""
    numbers = sorted(int(name) for name in folder.entries("state") if NUMBER.fullmatch(name))
    return [_read_operator(folder, number, last_batch, (state_ids or {}).get(str(number))) for number in numbers]


def _read_operator(folder: Folder, number: int, last_batch: int | None, ids: Any) -> Operator:
    name, stores, partitions = _metadata(folder, number)
    # Most metadata keep the first number of partitions when Spark rewrites the state for another number.
    partitions = len(ids) if isinstance(ids, list) else partitions
    files = list(walk(folder, f"state/{number}"))
    found = [(path.rpartition("/")[0], _FILE.fullmatch(path.rpartition("/")[2]), entry.bytes) for path, entry in files]
    changes: Counter[int] = Counter()
    present: dict[str, list[str]] = {}
    for parent, match, size in found:
        if match:
            present.setdefault(parent, []).append(match[0])
            changes[int(match["version"])] += size if match["kind"] in _CHANGES else 0
    versions = (min(changes), max(changes)) if changes else None
    expected = [] if last_batch is None else list(_expected(number, stores, partitions, last_batch + 1, ids))
    missing = [parent for parent, start in expected if not any(f.startswith(start) for f in present.get(parent, ()))]
    total = sum(entry.bytes for _, entry in files)
    last = -1 if last_batch is None else last_batch + 1
    lost = set(missing)
    folders = [parent for parent, _ in expected if parent not in lost]
    gaps = [
        f"version {gap} in {parent}" for parent in folders if (gap := _gap(present.get(parent, ()), last)) is not None
    ]
    empty = [path for path, entry in files if entry.bytes == 0 and _is_read(path, last)]
    return Operator(
        number, name, stores, partitions, len(files), total, versions, dict(changes), tuple(missing), tuple(gaps),
        tuple(empty),
    )  # fmt: skip


def _gap(names: Iterable[str], last: int) -> int | None:
    """Return the newest missing version that a start needs, or None."""
    found = [match for name in names if (match := _FILE.fullmatch(name))]
    snapshots = {int(match["version"]) for match in found if match["kind"] not in _CHANGES}
    changes = {int(match["version"]) for match in found if match["kind"] in _CHANGES}
    start = max((version for version in snapshots if version <= last), default=0)
    return next((version for version in range(last, start, -1) if version not in changes), None)


def _is_read(path: str, last: int) -> bool:
    name = path.rpartition("/")[2]
    match = _FILE.fullmatch(name)
    return name == "schema" or (match is not None and int(match["version"]) == last)


def _expected(
    number: int, stores: tuple[str, ...], partitions: int, version: int, ids: Any
) -> Iterator[tuple[str, str]]:
    """Yield each store's folder, and the beginning of the name of the file with this state version."""
    for partition in range(partitions):
        for index, store in enumerate(stores):
            folder = f"state/{number}/{partition}" + ("" if store == DEFAULT_STORE else f"/{store}")
            try:
                yield folder, f"{version}_{ids[partition][index]}." if ids else f"{version}."
            except (LookupError, TypeError):
                yield folder, f"{version}_"


def _metadata(folder: Folder, number: int) -> tuple[str, tuple[str, ...], int]:
    base = f"state/{number}/_metadata"
    # Most operators have one file; transformWithState has one per batch that changed it.
    names = {path: path.rpartition("/")[2] for path, _ in walk(folder, base)}
    batches = {path: -1 if name == "metadata" else int(name) for path, name in names.items() if _is_metadata(name)}
    if not batches:
        return "unknown operator", (), 0
    path = max(batches, key=lambda each: batches[each])
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


def _is_metadata(name: str) -> bool:
    return name == "metadata" or bool(NUMBER.fullmatch(name))
