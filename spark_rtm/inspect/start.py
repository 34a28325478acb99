"""
Predict in which OSS 4.3.0 execution modes a query can resume from a checkpoint, and which error prevents it.

`refused_start` checks the files that Spark reads to start a query, in the same order. Real-time mode first deletes the
offsets of uncommitted batches and does not read them again. If no batch is committed, the query cannot start unless
certain folders are empty. `to_real_time` and `to_micro_batch` check the format. `tests/inspect/test_inspect_start.py`
and `tests/pages/test_checkpoint_moves.py` compare the predictions with Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spark_rtm.inspect.files.content import NOT_EMPTY
from spark_rtm.inspect.files.logs import MAX_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spark_rtm.inspect.files.content import Checkpoint
    from spark_rtm.inspect.files.logs import Committed, Planned

REFUSED_V1 = "STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED"
REFUSED_SOURCE = "STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED"
REFUSED_OPERATOR = "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"
NEW_CHECKPOINT = "start a new checkpoint at the position that --as-starting-offsets prints"
# Stateful operators that real-time mode of OSS 4.3.0 does not support, by operator name in checkpoints.
REFUSED_OPERATORS = {
    "symmetricHashJoin": "stream-stream join",
    "dedupeWithinWatermark": "dropDuplicatesWithinWatermark",
    "sessionWindowStateStoreSaveExec": "session window",
    "flatMapGroupsWithState": "flatMapGroupsWithState or mapGroupsWithState",
    "applyInPandasWithState": "applyInPandasWithState",
    "transformWithStateInPandasExec": "transformWithStateInPandas",
    "transformWithStateInPySparkExec": "transformWithState in Python",
    "globalLimit": "limit",
}


CHANGES = {
    "accepted": "changing columns before or after the state, filters, names of grouping columns or results, a "
    "watermark, or the target topic",
    "refused": "changing the number or type of grouping columns or aggregates; adding, removing or replacing a "
    "stateful operator; reading a different source topic or a different number of sources",
    "ignored": "changing spark.sql.shuffle.partitions, because the checkpoint contains it",
    "unnoticed": "using a different column or function of the same type: old and new values mix in the state",
}
"""Effects of code changes when a query starts with existing state, tested in `tests/pages/test_state_changes.py`."""
NO_METADATA = "STREAMING_CHECKPOINT_MISSING_METADATA_FILE"
NO_STATE = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
UNFINISHED = "STREAMING_UNFINISHED_REPARTITION_DETECTED"
NOT_LOADED = "CANNOT_LOAD_STATE_STORE"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
RESTORE_STATE = f"restore state/ from a backup, or {NEW_CHECKPOINT}"
RESTORE_OFFSETS = f"restore offsets/ from a backup, or {NEW_CHECKPOINT}"


@dataclass(frozen=True)
class Move:
    """Whether a query in a given mode can resume from a checkpoint."""

    is_possible: bool
    reason: str
    remedy: str = ""


def refused_start(checkpoint: Checkpoint, *, is_real_time: bool) -> Move | None:
    """Return why the checkpoint's files prevent a query in this mode from starting, or None if they do not."""
    checks: tuple[Callable[[Checkpoint, bool], Iterator[Move]], ...] = (_metadata, _logs, _order, _sources, _state)
    return next((move for check in checks for move in check(checkpoint, is_real_time)), None)


def _metadata(checkpoint: Checkpoint, _is_real_time: bool) -> Iterator[Move]:  # noqa: FBT001 - one of `checks`
    remedy = f"restore metadata from a backup, or {NEW_CHECKPOINT}"
    if not checkpoint.has_metadata:
        reason = f"{NO_METADATA}: the file metadata is missing; since Spark 4.2, no query starts without it"
        yield Move(False, reason, remedy)
    if damage := checkpoint.metadata_damage:
        failures = {
            "empty": "MismatchedInputException",
            "no id": "No usable value for id",
            "UUID": "Invalid UUID string",
        }
        failure = next(
            (name for part, name in failures.items() if part in damage), "JsonParseException or JsonEOFException"
        )
        yield Move(False, f"{failure}: the file {damage}", remedy)


def _logs(checkpoint: Checkpoint, _is_real_time: bool) -> Iterator[Move]:  # noqa: FBT001
    for path in checkpoint.stale:
        beside = "/".join([*path.split("/")[:-1], f".{path.rpartition('/')[2]}.crc"])
        reason = f"Checksum error: {path} does not match {beside}, so it was edited or damaged"
        yield Move(False, reason, f"restore the file from a backup; if the edit is intended, delete {beside}")
    for log in (checkpoint.offsets, checkpoint.commits):
        if log.misnamed:
            reason = (
                f"{log.name}/{int(log.misnamed)} does not exist: Spark reads the file {log.misnamed!r} as this batch"
            )
            yield Move(False, reason, f"delete {log.name}/{log.misnamed}")
    newest = max(checkpoint.planned, default=0)
    read = [("offsets", checkpoint.planned.get(batch)) for batch in (newest, newest - 1)]
    for log_name, entry in (*read, ("commits", checkpoint.last_committed)):
        if entry and entry.version > MAX_VERSIONS[log_name]:
            reason = f"INVALID_LOG_VERSION: {log_name}/{entry.batch} has version {entry.version}, and OSS 4.3.0 reads "
            reason += f"versions up to {MAX_VERSIONS[log_name]}"
            yield Move(False, reason, "continue with the newer Spark that wrote the entry, or start a new checkpoint")


def _order(checkpoint: Checkpoint, is_real_time: bool) -> Iterator[Move]:  # noqa: FBT001
    newest, committed = max(checkpoint.planned, default=-1), max(checkpoint.committed, default=-1)
    if max((batch for batch in checkpoint.planned if batch <= committed or not is_real_time), default=-1) < committed:
        reason = f"batch {committed} is committed, but offsets/{committed} is missing, so a restart fails"
        yield Move(False, reason, RESTORE_OFFSETS)
    if newest > max(committed, 0) and _partitions(checkpoint, newest) != _partitions(checkpoint, newest - 1):
        reason = f"{UNFINISHED}: a program stopped while it rewrote the state for a different number of partitions"
        yield Move(False, reason, "run `rtm resize` again on the old checkpoint, and delete this copy")
    # A stateless real-time query reads only one entry.
    read = [newest] if not is_real_time else [newest, committed] if checkpoint.operators else []
    for batch in read:
        if batch > 0 and batch - 1 not in checkpoint.planned:
            text = "Previous batch {} not found in offset log" if batch > committed else "batch {} doesn't exist"
            reason = f"{text.format(batch - 1)}: the query reads offsets/{batch} and offsets/{batch - 1} to start"
            yield Move(False, reason, RESTORE_OFFSETS)
    if is_real_time and committed < 0 and checkpoint.leftovers:
        reason = f"{NOT_EMPTY}: no batch is committed, so real-time mode begins with batch 0, but "
        yield Move(False, f"{reason}{checkpoint.leftovers} exists", f"delete {checkpoint.leftovers}")


def _partitions(checkpoint: Checkpoint, batch: int) -> str | None:
    planned = checkpoint.planned.get(batch) or checkpoint.last_planned
    return planned.confs.get(SHUFFLE_PARTITIONS) if planned else None


def _sources(checkpoint: Checkpoint, is_real_time: bool) -> Iterator[Move]:  # noqa: FBT001
    newest = max(checkpoint.planned)
    if checkpoint.source_damage and not checkpoint.committed and (is_real_time or newest == 0):
        reason = f"requirement failed or Expected e.g.: {checkpoint.source_damage}"
        yield Move(False, reason, "delete the file; the query then begins at startingOffsets")
    last = checkpoint.planned[newest].sources
    before = checkpoint.planned[newest - 1].sources if newest - 1 in checkpoint.planned else last
    if len(last) != len(before):
        reason = f"There are [{max(len(last), len(before))}] sources: offsets/{newest} and offsets/{newest - 1} differ"
        yield Move(False, f"{reason} in the number of sources", RESTORE_OFFSETS)
    for name, value in last.items():
        if isinstance(before.get(name), dict) and not isinstance(value, dict | None):
            yield Move(False, f"Expected e.g.: offsets/{newest} has no Kafka offsets of source {name}", RESTORE_OFFSETS)


def _state(checkpoint: Checkpoint, is_real_time: bool) -> Iterator[Move]:  # noqa: FBT001
    planned, committed = checkpoint.last_planned, checkpoint.last_committed
    confs = planned.confs if planned else {}
    if checkpoint.lost_operators:
        lost = ", ".join(f"state/{number}" for number in checkpoint.lost_operators)
        yield Move(False, f"{NO_STATE}: {lost} is missing", RESTORE_STATE)
    is_purged = planned is not None and planned.batch > (committed.batch if committed else -1) + 1
    for operator in () if is_real_time and is_purged else checkpoint.operators:
        number = confs.get(SHUFFLE_PARTITIONS)
        if planned and number and operator.partitions and number != str(operator.partitions):
            offsets = f"offsets/{planned.batch}"
            reason = f"the state has {operator.partitions} partitions, but {offsets} specifies {number}, so the query "
            yield Move(False, f"{reason}fails to start or loses keys", f"undo the edit of {offsets}")
        if operator.missing:
            text = f"state version {checkpoint.state_version} is missing in {', '.join(operator.missing)}"
            yield Move(False, f"{NOT_LOADED}: {text}", RESTORE_STATE)
        if operator.gaps:
            text = f"state {', '.join(operator.gaps)} is missing, so version {checkpoint.state_version} cannot be built"
            yield Move(False, f"{NOT_LOADED}: {text}", RESTORE_STATE)
        if operator.empty:
            condition = "" if operator.empty[0].endswith("schema") else f"{NOT_LOADED}: "
            yield Move(False, f"{condition}{', '.join(operator.empty)} is empty or cut off", RESTORE_STATE)


def to_real_time(
    planned: Planned | None, committed: Committed | None, operators: Iterable[str], other_sources: Iterable[str]
) -> Move:
    """Return whether a real-time query can resume from this checkpoint. `other_sources` are the non-Kafka sources."""
    if refusal := _refusal(operators, list(other_sources)):
        return refusal
    if _is_continuous(planned):
        return Move(False, f"{REFUSED_V1}: the last batch was written in continuous mode", NEW_CHECKPOINT)
    if committed is None:
        return Move(True, "no batch is committed, so the first commit sets the format")
    if committed.version < 2:
        return Move(False, f"{REFUSED_V1}: commits/{committed.batch} has format {committed.version}", NEW_CHECKPOINT)
    if committed.version > 2:
        return Move(True, f"commits/{committed.batch} has format {committed.version}, which is not tested")
    return Move(True, f"commits/{committed.batch} has format 2")


def _refusal(operators: Iterable[str], other_sources: list[str]) -> Move | None:
    refused = [f"{REFUSED_OPERATORS[name]} ({name})" for name in operators if name in REFUSED_OPERATORS]
    if refused:
        return Move(False, f"{REFUSED_OPERATOR}: the state belongs to {', '.join(refused)}", "stay in micro-batch mode")
    if other_sources:
        return Move(
            False,
            f"{REFUSED_SOURCE}: source {', '.join(other_sources)} has no Kafka offsets",
            "read from Kafka instead",
        )
    return None


def to_micro_batch(planned: Planned | None) -> Move:
    """Return whether a micro-batch query can resume from this checkpoint."""
    if _is_continuous(planned):
        return Move(
            False,
            "the last batch was written in continuous mode, so Spark fails with a NullPointerException "
            "(WatermarkTracker)",
            NEW_CHECKPOINT,
        )
    return Move(True, "the offset log has the metadata that micro-batch mode reads")


def _is_continuous(planned: Planned | None) -> bool:
    return planned is not None and planned.started_ms is None
