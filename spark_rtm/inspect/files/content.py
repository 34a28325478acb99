"""Read all the checkpoint files that `rtm inspect` needs."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spark_rtm.inspect.files import logs
from spark_rtm.inspect.files.folder import Folder, UnreadableError, walk
from spark_rtm.inspect.files.logs import NUMBER, Committed, DamagedError, Log, Planned
from spark_rtm.inspect.files.state import Operator, read_operators

MAX_NAMES = 5
PREPARED = re.compile(r"(\d+)-(\d+)-\d+-\d+-\d+")
"""Pattern for a transaction record's file name: partition, batch, batch start, producer id and epoch."""
NOT_EMPTY = "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"
_PASS_LOCATION = "pass the value of the query's checkpointLocation"


@dataclass(frozen=True)
class Checkpoint:
    """The parsed checkpoint files, including the newest entries of each log."""

    target: str
    query_id: str | None
    created_seconds: float | None
    """Modification time of the `metadata` file, or None if the store reports no times."""
    has_metadata: bool
    offsets: Log
    commits: Log
    planned: Mapping[int, Planned]
    committed: Mapping[int, Committed]
    first_offsets: Mapping[str, Any]
    operators: tuple[Operator, ...]
    stale: tuple[str, ...] = ()
    """Files that prevent the query from starting because they differ from their checksum files."""
    metadata_damage: str = ""
    lost_operators: tuple[str, ...] = ()
    """Operators that the last commit lists, but that have no folder below `state/`."""
    state_version: int = 0
    """State version from which the next batch starts."""
    leftovers: str = ""
    """A file that makes real-time batch 0 fail, if no batch is committed."""
    skipped: tuple[str, ...] = ()
    """Damaged log entries that Spark does not read when the query starts."""
    source_damage: str = ""
    """Error in the first offsets. If no batch is committed, Spark reads them when the query starts."""
    prepared: tuple[tuple[int, int], ...] = ()
    """Batch and partition of each transaction that `exactly_once` has not committed yet."""

    @property
    def last_planned(self) -> Planned | None:
        """The newest entry in `offsets/`."""
        return self.planned[max(self.planned)] if self.planned else None

    @property
    def last_committed(self) -> Committed | None:
        """The newest entry in `commits/`."""
        return self.committed[max(self.committed)] if self.committed else None

    @property
    def position(self) -> Planned | None:
        """The end offsets of the newest committed batch. All earlier records have been processed."""
        both = set(self.planned) & set(self.committed)
        return self.planned[max(both)] if both else None


def read_checkpoint(folder: Folder, target: str) -> Checkpoint:
    """Read a checkpoint. Raise `UnreadableError` if the folder is not a checkpoint or a file is damaged."""
    try:
        if reason := _reason_against(folder, target):
            raise UnreadableError(reason)
        return _read(folder, target)
    except DamagedError as error:
        raise UnreadableError(f"{target} is damaged: {error}; {_remedy(folder, error.path)}") from error
    except FileNotFoundError as error:
        raise UnreadableError(
            f"{target} changed while it was being read ({error.filename or error}); run `inspect` again"
        ) from error
    except OSError as error:
        problem = error.strerror or error
        raise UnreadableError(f"cannot read {error.filename or target}: {problem}; check the permissions") from error


def _reason_against(folder: Folder, target: str) -> str | None:
    found = folder.entries()
    inner = [name for name, entry in found.items() if entry.is_folder and "offsets" in folder.entries(name)]
    reason: str | None = None
    if not found:
        reason = f"is empty, so no query has started here; {_PASS_LOCATION}"
    elif "xl.meta" in folder.entries("metadata"):
        reason = "is a folder in which MinIO stores objects; pass s3://BUCKET/PATH, and set AWS_ENDPOINT_URL"
    elif any(part in found for part in ("offsets", "commits")):
        pass
    elif "state" in found or ("metadata" in found and not found["metadata"].is_folder):
        reason = f"contains no planned batch: {_never_planned(folder)}"
    elif inner:
        reason = f"contains {len(inner)} checkpoints; pass one of its folders: {_some(inner)}"
    elif all(NUMBER.fullmatch(name) or name.startswith(".") for name in found):
        reason = "is a subfolder of a checkpoint; pass its parent folder"
    else:
        reason = (
            f"contains {_some(list(found))}, but no offsets and no commits, so it is not a checkpoint; {_PASS_LOCATION}"
        )
    return reason and f"{target} {reason}"


def _never_planned(folder: Folder) -> str:
    """Describe how a query starts from a checkpoint that has no planned batch."""
    if any(NUMBER.fullmatch(name) for name in folder.entries("commits")):
        return (
            "commits/ has entries but offsets/ has none, so the query cannot start; restore offsets/ from a backup, or "
            "use a new checkpoint"
        )
    if left := leftovers(folder, "offsets", "commits"):
        return f"{left} prevents the query from starting ({NOT_EMPTY}); delete it, because no batch is committed"
    if left := leftovers(folder, "state"):
        return (
            f"{left} prevents the query from starting in micro-batch mode ({NOT_EMPTY}), but real-time mode begins "
            "with batch 0; restore offsets/ and commits/ from a backup, or delete state/ to begin again"
        )
    return "the query ended before it planned its first batch; it begins with batch 0 in any mode"


def leftovers(folder: Folder, *names: str) -> str:
    """Return the first entry in the folders that must be empty when batch 0 begins."""
    left = ((name, entry) for name in names for entry in folder.entries(name) if not entry.endswith(".crc"))
    return next((f"{name}/{entry}" for name, entry in left if name == "state" or not NUMBER.fullmatch(entry)), "")


def _some(names: list[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + (", ..." if len(names) > MAX_NAMES else "")


def _read(folder: Folder, target: str) -> Checkpoint:
    metadata_damage = ""
    try:
        query_id = logs.read_query_id(folder)
    except DamagedError as error:
        query_id, metadata_damage = None, str(error)
    # A running query writes offsets before commits. Reading commits first ensures that their offsets exist.
    commits, offsets = logs.read_log(folder, "commits"), logs.read_log(folder, "offsets")
    if not offsets.entries:
        raise UnreadableError(f"{target} contains no planned batch: {_never_planned(folder)}")
    newest, last_commit = max(offsets.entries), max(commits.entries, default=-1)
    skipped = list[str]()
    planned, committed = dict[int, Planned](), dict[int, Committed]()
    for batch in offsets.newest():
        with _skipping(skipped, is_read=batch >= newest - 1):
            planned[batch] = logs.read_planned(folder, offsets, batch, is_newest=batch == newest)
    for batch in commits.newest():
        with _skipping(skipped, is_read=batch == last_commit):
            committed[batch] = logs.read_committed(folder, commits, batch)
    ids = committed[last_commit].state_ids if committed else None
    version = newest + (1 if newest == last_commit else 0)
    metadata = folder.entries().get("metadata")
    operators = tuple(read_operators(folder, version, ids))
    first, damage = _first_offsets(folder, planned[newest].sources)
    there = {str(operator.number) for operator in operators}
    return Checkpoint(
        target,
        query_id,
        metadata.modified_seconds if metadata else None,
        metadata is not None,
        offsets,
        commits,
        planned,
        committed,
        first,
        operators,
        tuple(_stale(folder, [*planned], last_commit)),
        metadata_damage,
        tuple(sorted(set(ids or ()) - there)) or _lost(folder, there),
        version,
        "" if committed else leftovers(folder, "offsets", "commits"),
        tuple(skipped),
        damage,
        _prepared(folder),
    )


def _prepared(folder: Folder) -> tuple[tuple[int, int], ...]:
    names = map(PREPARED.fullmatch, folder.entries("transactions"))
    return tuple(sorted((int(name[2]), int(name[1])) for name in names if name))


def _first_offsets(folder: Folder, names: Iterable[str]) -> tuple[dict[str, Any], str]:
    """Return each source's first offsets, and the error for the last source whose offsets cannot be read."""
    found, damage = dict.fromkeys(names), ""
    for name in found:
        try:
            found[name] = logs.first_offsets(folder, name)
        except DamagedError as error:
            damage = str(error)
    return found, damage


def _stale(folder: Folder, planned: list[int], last_commit: int) -> Iterator[str]:
    """Yield the files that Spark reads when the query starts and that differ from their checksum files."""
    read = ["metadata", *(f"offsets/{batch}" for batch in planned[-2:]), f"commits/{last_commit}"]
    # When a query starts, Spark reads operator metadata only for transformWithState.
    read += [path for path, _ in walk(folder, "state") if "/_metadata/v2/" in path and not path.endswith(".crc")]
    for path in read:
        parent, _, name = path.rpartition("/")
        if name in folder.entries(parent) and logs.has_stale_checksum(folder, path):
            yield path


def _lost(folder: Folder, there: set[str]) -> tuple[str, ...]:
    """Return operator 0 if the `state` folder exists but is empty. Stateless queries have no `state` folder."""
    return ("0",) if "state" in folder.entries() and not there else ()


@contextlib.contextmanager
def _skipping(skipped: list[str], *, is_read: bool) -> Iterator[None]:
    """Record a damaged entry. Raise an error instead if Spark reads the entry when the query starts."""
    try:
        yield
    except DamagedError as error:
        if is_read:
            raise
        skipped.append(str(error))


def _remedy(folder: Folder, path: str) -> str:
    """Return the remedy for a damaged file. `tests/inspect` verifies both deletions below on OSS 4.3.0."""
    parent, _, name = path.rpartition("/")
    commits, offsets = logs.read_log(folder, "commits"), logs.read_log(folder, "offsets")
    newest = max(commits.entries, default=-1)
    if parent == "commits" and int(name) == newest == max(offsets.entries, default=-1):
        return f"delete the file; a restart then runs batch {name} again and repeats its results"
    if parent == "offsets" and int(name) == max(offsets.entries) > newest:
        return f"delete the file; a restart then plans batch {name} again, because the batch is not committed"
    return "restore the file from a backup, or start a new checkpoint"
