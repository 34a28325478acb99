"""Read all checkpoint files that an inspection needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from spark_rtm.inspect.files import logs
from spark_rtm.inspect.files.folder import Folder, UnreadableError
from spark_rtm.inspect.files.foreign import reason_against
from spark_rtm.inspect.files.logs import Committed, DamagedError, Log, Planned
from spark_rtm.inspect.files.state import Operator, read_operators

T = TypeVar("T")


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
    """First offsets of each source; None for a source that does not store them."""
    operators: tuple[Operator, ...]
    stale: tuple[str, ...] = ()
    """Files that differ from their checksum files, and would make a start fail."""
    metadata_damage: str = ""
    """Why the file `metadata` cannot be read."""
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
        if reason := reason_against(folder, target):
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


def _read(folder: Folder, target: str) -> Checkpoint:
    metadata_damage = ""
    try:
        query_id = logs.read_query_id(folder)
    except DamagedError as error:
        query_id, metadata_damage = None, str(error)
    # A running query writes offsets before commits, so reading them in the other order never misses offsets.
    commits, offsets = logs.read_log(folder, "commits"), logs.read_log(folder, "offsets")
    planned = _newest(folder, offsets, logs.read_planned)
    committed = _newest(folder, commits, logs.read_committed)
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


def _newest(folder: Folder, log: Log, parse: Callable[[Folder, Log, int], T]) -> dict[int, T]:
    return {batch: parse(folder, log, batch) for batch in log.newest()}


def _remedy(folder: Folder, path: str) -> str:
    """Return how to repair a damaged file. `tests/inspect` tests both deletions on OSS 4.3.0."""
    parent, _, name = path.rpartition("/")
    commits, offsets = logs.read_log(folder, "commits"), logs.read_log(folder, "offsets")
    newest = max(commits.entries, default=-1)
    if parent == "commits" and int(name) == newest == max(offsets.entries, default=-1):
        return f"delete it, and a restart runs batch {name} again and repeats its results"
    if parent == "offsets" and int(name) == max(offsets.entries) > newest:
        return f"delete it, and a restart plans batch {name} again, because it is not committed"
    return "restore it from a copy, or start a new checkpoint"
