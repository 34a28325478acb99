"""
Determine which execution mode wrote each batch of a checkpoint.

No file contains the mode. Each mode leaves different traces, which `test_checkpoint_moves.py` verifies on OSS 4.3.0:

| mode | trace |
|---|---|
| continuous | `offsets/N` has no metadata |
| real-time | format 2, and `offsets/N` was written when the batch ended instead of when it began |
| async progress tracking | batches are missing in the logs; or format 2 and `commits/N` has no field for state ids |
| micro-batch | none of these |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from spark_rtm.inspect.files.logs import Committed, Planned

REAL_TIME, MICRO_BATCH, CONTINUOUS = "real-time", "micro-batch", "continuous"
ASYNC = "async progress tracking"
# With async progress tracking, the logs of a busy query lack most batches. A query without input leaves no gaps.
MICRO_BATCH_OR_ASYNC = f"{MICRO_BATCH} or {ASYNC}"
REAL_TIME_OR_ASYNC = f"{REAL_TIME} or {ASYNC}"
REAL_TIME_OR_MICRO_BATCH = f"{REAL_TIME} or {MICRO_BATCH}"
# `spark.sql.streaming.realTimeMode.minBatchDuration` is 5 s; tests lower it to 1 s.
MIN_REAL_TIME_SECONDS = 0.9
# In real-time mode the offsets are written at the end of the batch, shortly before the commit.
MIN_SHARE = 0.7
# The clocks of an object store and the driver may differ.
CLOCK_SKEW_SECONDS = 2.0
# Only real-time aggregations have this name. A checkpoint keeps the name that its first batch wrote.
REAL_TIME_OPERATOR = "StatefulStreamlineAggregate"


@dataclass(frozen=True)
class Span:
    """Consecutive batches that were written in the same mode."""

    first: int
    last: int
    mode: str
    evidence: str


def spans(
    planned: Mapping[int, Planned],
    committed: Mapping[int, Committed],
    operators: Sequence[str] = (),
    created_seconds: float | None = None,
) -> list[Span]:
    """
    Return spans of consecutive batches that were written in the same mode, oldest first.

    `created_seconds` is the modification time of `metadata`, which Spark writes before the first batch. If it is later
    than the batches, the checkpoint is a copy, and all file times are ignored.
    """
    batches = sorted(set(planned) & set(committed))
    has_gaps = any(after - before > 1 for before, after in pairwise(batches))
    found: list[Span] = []
    for batch in batches:
        timed = _is_original(planned[batch], created_seconds)
        mode, evidence = _mode_of(planned[batch], committed[batch], operators, timed=timed, has_gaps=has_gaps)
        if found and found[-1].mode == mode:
            found[-1] = Span(found[-1].first, batch, mode, evidence)
        else:
            found.append(Span(batch, batch, mode, evidence))
    return found


def _mode_of(
    planned: Planned, committed: Committed, operators: Sequence[str], *, timed: bool, has_gaps: bool
) -> tuple[str, str]:
    if planned.started_ms is None:
        return CONTINUOUS, "the offset log has no metadata"
    if committed.version < 2:
        return _mode_of_format_1(has_state=bool(operators), has_gaps=has_gaps)
    delay, length = _times(planned, committed) if timed else (None, None)
    if delay is None or length is None:
        return _mode_without_times(committed, operators)
    if delay >= MIN_REAL_TIME_SECONDS and delay >= MIN_SHARE * length:
        return REAL_TIME, f"the offsets were written {delay:.1f} s after the start of the batch, when it ended"
    if committed.state_ids is None:
        return ASYNC, "the commit log has no state ids, and the offsets were written when the batch began"
    return MICRO_BATCH, "the offsets were written when the batch began"


def _mode_of_format_1(*, has_state: bool, has_gaps: bool) -> tuple[str, str]:
    if has_gaps:
        return ASYNC, "batches are missing in the logs"
    if has_state:
        return MICRO_BATCH, "format 1, with state, which async progress tracking does not support"
    return MICRO_BATCH_OR_ASYNC, "format 1, and no committed batch is missing in the logs"


def _mode_without_times(committed: Committed, operators: Sequence[str]) -> tuple[str, str]:
    copied = "the files do not have their original times"
    if REAL_TIME_OPERATOR in operators:
        return REAL_TIME_OR_MICRO_BATCH, f"real-time mode created the state; {copied}"
    if committed.state_ids is None:
        return REAL_TIME_OR_ASYNC, f"the commit log has no state ids; {copied}"
    return REAL_TIME_OR_MICRO_BATCH, f"format 2; {copied}"


def _is_original(planned: Planned, created_seconds: float | None) -> bool:
    if created_seconds is None or planned.started_ms is None:
        return False
    return created_seconds <= planned.started_ms / 1000 + CLOCK_SKEW_SECONDS


def _times(planned: Planned, committed: Committed) -> tuple[float | None, float | None]:
    """Return the seconds from a batch's start until Spark wrote the offset log entry and the commit log entry."""
    if planned.started_ms is None or planned.written_seconds is None or committed.written_seconds is None:
        return None, None
    start = planned.started_ms / 1000
    return planned.written_seconds - start, committed.written_seconds - start
