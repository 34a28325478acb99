"""Check that a running query uses real-time mode."""

from pyspark.sql.streaming.query import StreamingQuery

from .plans import plan_of_query
from .queries import wait_until

REAL_TIME_SCAN = "RealTimeStreamScan"


class NotRealTimeError(AssertionError):
    """Raised when a query does not run in real-time mode."""


def assert_real_time(query: StreamingQuery, deadline_seconds: float = 60) -> None:
    """Raise `NotRealTimeError` unless the physical plan of `query` contains `RealTimeStreamScan`."""
    wait_until(lambda: "Scan" in plan_of_query(query), deadline_seconds, f"the plan of {query.name!r}", [query])
    if REAL_TIME_SCAN not in plan_of_query(query):
        raise NotRealTimeError(
            f"query {query.name!r} has no {REAL_TIME_SCAN} in its plan, so it processes rows in micro-batches; "
            f'start it with .trigger(realTime="5 minutes") and .outputMode("update")'
        )
