"""
Provoke what the scheduler refuses about a pipelined shuffle, which no public call reaches.

A running stateful query arrives; a second job on its own RDD leaves with an error.
Real-time mode hands rows from stage to stage while both run, so nothing is kept that another job could read.
"""

from collections.abc import Callable

from py4j.java_gateway import JavaObject
from pyspark.sql.streaming.query import StreamingQuery


def rows_of(query: StreamingQuery) -> JavaObject:
    """Return the RDD of the running batch, below its sink."""
    execution = query._jsq.streamingQuery().lastExecution()  # noqa: SLF001 - not public
    return execution.executedPlan().children().head().execute()


def count_again(query: StreamingQuery) -> None:
    """Run a second job on the shuffle that the running batch reads."""
    rows_of(query).count()


def count_with_checkpoint(query: StreamingQuery) -> None:
    """Run a second job that would save the shuffle's rows."""
    rows = rows_of(query)
    rows.context().setCheckpointDir("checkpoints/rdd")
    rows.checkpoint()
    rows.count()


PROVOKED: dict[str, Callable[[StreamingQuery], None]] = {
    "PIPELINED_SHUFFLE_CROSS_JOB_REUSE": count_again,
    "PIPELINED_SHUFFLE_UNSUPPORTED": count_with_checkpoint,
}
"""Conditions and what provokes them."""
