"""
Decide in which execution modes of OSS 4.3.0 a query can resume from a checkpoint.

`tests/pages/test_checkpoint_moves.py` compares each answer with the engine.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from spark_rtm.inspect.files.logs import Committed, Planned

REFUSED_V1 = "STREAMING_REAL_TIME_MODE.CHECKPOINT_FORMAT_V1_NOT_SUPPORTED"
REFUSED_SOURCE = "STREAMING_REAL_TIME_MODE.INPUT_STREAM_NOT_SUPPORTED"
REFUSED_OPERATOR = "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"
NEW_CHECKPOINT = "start a new checkpoint at the position that --as-starting-offsets prints"
# Stateful operators that real-time mode of OSS 4.3.0 refuses, by the name in the checkpoint.
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
    "accepted": "columns before and after the state, filters, names of grouping columns and results, a watermark, the "
    "target topic",
    "refused": "number and type of grouping columns; number and type of aggregates; an added, removed or replaced "
    "stateful operator; another source topic; number of sources",
    "ignored": "spark.sql.shuffle.partitions, which the checkpoint contains",
    "unnoticed": "another column of the same type, or another function with the same type: old and new values mix in "
    "the state",
}
"""Effect of code changes on a start with existing state. `tests/pages/test_state_changes.py` tries each."""


@dataclass(frozen=True)
class Move:
    """Whether a query in a given mode can resume from a checkpoint."""

    is_possible: bool
    reason: str
    remedy: str = ""


def to_real_time(
    planned: Planned | None, committed: Committed | None, operators: Iterable[str], other_sources: Iterable[str]
) -> Move:
    """Return whether a query in real-time mode can resume from this checkpoint. `other_sources` are not Kafka."""
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
    """Return whether a query in micro-batch mode can resume from this checkpoint."""
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
