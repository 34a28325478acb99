"""Read all checkpoint files that an inspection needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spark_rtm.inspect.files import logs
from spark_rtm.inspect.files.folder import Folder, UnreadableError
from spark_rtm.inspect.files.logs import NUMBER, Committed, DamagedError, Log, Planned
from spark_rtm.inspect.files.state import Operator, read_operators

MAX_NAMES = 5
_PASS_LOCATION = "pass the value of the query's checkpointLocation"


@dataclass(frozen=True)
class Checkpoint:
    """The parsed files of a checkpoint, with the newest entries of each log."""

    target: str
    query_id: str | None
    created_seconds: float | None
    """Time of the file `metadata`, or None if the store reports no times."""
    has_metadata: bool
    offsets: Log
    commits: Log
    planned: Mapping[int, Planned]
    committed: Mapping[int, Committed]
    first_offsets: Mapping[str, Any]
    operators: tuple[Operator, ...]
    stale: tuple[str, ...] = ()
    """Files that differ from their checksum files, and would make a start fail."""
    metadata_damage: str = ""
    lost_operators: tuple[str, ...] = ()
    """Operators without a folder below `state/`, although the last commit names their files."""

    @property
    def last_planned(self) -> Planned | None:
        """The newest entry of `offsets/`."""
        return self.planned[max(self.planned)] if self.planned else None

    @property
    def last_committed(self) -> Committed | None:
        """The newest entry of `commits/`."""
        return self.committed[max(self.committed)] if self.committed else None

    @property
    def position(self) -> Planned | None:
        """The offsets of the newest committed batch. All earlier records are processed."""
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
    if not found:
        return f"{target} is empty, so no query has started here; {_PASS_LOCATION}"
    if any(part in found for part in ("offsets", "commits")):
        return None
    if "metadata" in found and not found["metadata"].is_folder:
        return (
            f"{target} contains a query id but no offsets, so the query ended before it planned its first batch; "
            "start the query in any mode and read its error"
        )
    inner = [name for name, entry in found.items() if entry.is_folder and "offsets" in folder.entries(name)]
    if inner:
        return f"{target} contains {len(inner)} checkpoints; pass one of its folders: {_some(inner)}"
    if all(NUMBER.fullmatch(name) or name.startswith(".") for name in found):
        return f"{target} is a part of a checkpoint; pass the folder above it"
    names = _some(list(found))
    return f"{target} contains {names}, but no offsets and no commits, so it is not a checkpoint; {_PASS_LOCATION}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + (", ..." if len(names) > MAX_NAMES else "")


def _read(folder: Folder, target: str) -> Checkpoint:
    metadata_damage = ""
    try:
        query_id = logs.read_query_id(folder)
    except DamagedError as error:
        query_id, metadata_damage = None, str(error)
    # A running query writes offsets before commits, so reading them in the other order never misses offsets.
    commits, offsets = logs.read_log(folder, "commits"), logs.read_log(folder, "offsets")
    planned = {batch: logs.read_planned(folder, offsets, batch) for batch in offsets.newest()}
    committed = {batch: logs.read_committed(folder, commits, batch) for batch in commits.newest()}
    if not planned:
        raise UnreadableError(
            f"{target} contains no planned batch, so nothing is known about its query; "
            "restore offsets/ from a copy, or start a new checkpoint"
        )
    last = committed[max(committed)] if committed else None
    sources = planned[max(planned)].sources
    metadata = folder.entries().get("metadata")
    newest = [*(["metadata"] if metadata else []), f"offsets/{max(planned)}"]
    newest += [f"commits/{last.batch}"] if last else []
    operators = tuple(read_operators(folder, last.batch if last else None, last.state_ids if last else None))
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
        {name: logs.first_offsets(folder, name) for name in sources},
        operators,
        tuple(path for path in newest if logs.has_stale_checksum(folder, path)),
        metadata_damage,
        tuple(sorted(set((last.state_ids if last else None) or ()) - there)),
    )


def _remedy(folder: Folder, path: str) -> str:
    """Return the remedy for a damaged file. `tests/inspect` tests both deletions below on OSS 4.3.0."""
    parent, _, name = path.rpartition("/")
    commits, offsets = logs.read_log(folder, "commits"), logs.read_log(folder, "offsets")
    newest = max(commits.entries, default=-1)
    if parent == "commits" and int(name) == newest == max(offsets.entries, default=-1):
        return f"delete it, and a restart runs batch {name} again and repeats its results"
    if parent == "offsets" and int(name) == max(offsets.entries) > newest:
        return f"delete it, and a restart plans batch {name} again, because it is not committed"
    return "restore it from a copy, or start a new checkpoint"
