"""
Check that a running query uses real-time mode, and return physical plans as text.

PySpark's public `explain()` only prints a plan, and redirecting stdout would capture the output of all threads. The
functions below call the same JVM methods as `explain()` in PySpark 4.3.0, which Spark Connect lacks.
"""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from .queries import wait_until

REAL_TIME_SCAN = "RealTimeStreamScan"


class NotRealTimeError(AssertionError):
    """Raised if a query does not run in real-time mode."""


def assert_real_time(query: StreamingQuery, deadline_seconds: float = 60) -> None:
    """Raise `NotRealTimeError` unless the physical plan of `query` contains `RealTimeStreamScan`."""
    wait_until(lambda: "Scan" in plan_of_query(query), deadline_seconds, f"the plan of {query.name!r}", [query])
    if REAL_TIME_SCAN not in plan_of_query(query):
        raise NotRealTimeError(
            f"query {query.name!r} has no {REAL_TIME_SCAN} in its plan, so it processes rows in micro-batches; "
            f'start it with .trigger(realTime="5 minutes") and .outputMode("update")'
        )


def plan_of_frame(frame: DataFrame) -> str:
    """Return a batch or streaming DataFrame's physical plan."""
    jvm: Any = frame.sparkSession._jvm  # noqa: SLF001
    return str(jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "simple"))  # noqa: SLF001


def plan_of_query(query: StreamingQuery) -> str:
    """Return the physical plan of the query's current or last batch."""
    return str(query._jsq.explainInternal(False))  # noqa: SLF001
