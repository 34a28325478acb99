"""
Reproduce scheduler refusals about pipelined shuffles, which no public call can cause.

Real-time mode passes rows between running stages and keeps no row for another job.
"""

from collections.abc import Callable

from py4j.java_gateway import JavaObject
from pyspark.sql.streaming.query import StreamingQuery


def rows_of(query: StreamingQuery) -> JavaObject:
    execution = query._jsq.streamingQuery().lastExecution()  # noqa: SLF001 - not public
    return execution.executedPlan().children().head().execute()


def count_again(query: StreamingQuery) -> None:
    rows_of(query).count()


def count_with_checkpoint(query: StreamingQuery) -> None:
    """Run a second job that would checkpoint the rows of the shuffle."""
    rows = rows_of(query)
    rows.context().setCheckpointDir("checkpoints/rdd")
    rows.checkpoint()
    rows.count()


PROVOKED: dict[str, Callable[[StreamingQuery], None]] = {
    "PIPELINED_SHUFFLE_CROSS_JOB_REUSE": count_again,
    "PIPELINED_SHUFFLE_UNSUPPORTED": count_with_checkpoint,
}
"""Conditions, and the functions that cause them."""
