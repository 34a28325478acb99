"""
The operators of a stream, as rules ask for them.

What arrives is a query; what leaves are its operators by name, and whether they keep state.
Real-time mode demands to tell joins of streams from joins with a table.
"""

from collections.abc import Iterator

from scripts.lint.spark.streams import Frame, Query, Step

JOINS = {"join", "crossJoin"}
UNIONS = {"union", "unionAll", "unionByName"}
STATEFUL = {"aggregate", "dropDuplicates", "drop_duplicates", "dropDuplicatesWithinWatermark", "distinct",
            "transformWithState", "transformWithStateInPandas", "applyInPandasWithState",
            "flatMapGroupsWithState", "mapGroupsWithState"}  # fmt: skip


def steps(query: Query, *names: str) -> Iterator[Step]:
    """Yield the operators of a query that have one of `names`."""
    for step in query.writer.frame.steps:
        if step.name in names:
            yield step


def is_stateful(frame: Frame) -> bool:
    """Tell whether an operator of the stream keeps state."""
    return any(step.name in STATEFUL or (step.name == "join" and joins_streams(step)) for step in frame.steps)


def joins_streams(step: Step) -> bool:
    """Tell whether both sides of a join certainly stream."""
    return bool(step.left.is_streaming and step.other and step.other.is_streaming)
