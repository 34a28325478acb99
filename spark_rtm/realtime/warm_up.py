"""
Run short, empty batches of a query before traffic arrives, so the JVM compiles the code that runs at batch boundaries.

A query runs this code only once per trigger interval. In a new JVM, about the first hundred boundaries are slow. In
production, a hundred trigger intervals take hours, so the boundaries would stay slow for hours.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from .queries import stop_completely, wait_until

BATCHES = 100
INTERVAL_SECONDS = 0.25
MIN_INTERVAL_CONF = "spark.sql.streaming.realTimeMode.minBatchDuration"
WARM_UP_MIN_INTERVAL_MS = "100"
TIMEOUT_SECONDS = 300.0

Start = Callable[[Path, float], Iterable[StreamingQuery]]


def warm_up(spark: SparkSession, start: Start, batches: int = BATCHES, parent: Path | None = None) -> None:
    """
    Run `batches` short batches of the queries started by `start`, and then stop these queries.

    `start` takes a folder for checkpoints and a trigger interval in seconds, and returns the running queries. Use
    the same queries as in production, but with empty source topics.
    The folder is created below `parent` and deleted afterwards. All executors of a cluster need access to `parent`.
    Raises ValueError if a query has read records, and `QueryFailedError` if a query fails.
    """
    before = str(spark.conf.get(MIN_INTERVAL_CONF))
    queries, folder = list[StreamingQuery](), Path(tempfile.mkdtemp(prefix="warm-up-", dir=parent))
    spark.conf.set(MIN_INTERVAL_CONF, WARM_UP_MIN_INTERVAL_MS)
    try:
        queries += start(folder, INTERVAL_SECONDS)
        wait_until(
            lambda: all(_finished_batches(query) >= batches for query in queries), TIMEOUT_SECONDS, "warm-up", queries
        )
    finally:
        spark.conf.set(MIN_INTERVAL_CONF, before)
        # Stop the queries before the folder is deleted, because a running task would write into the folder again.
        stop_completely(spark, *queries)
        shutil.rmtree(folder)


def _finished_batches(query: StreamingQuery) -> int:
    progress = query.lastProgress
    if progress is None:
        return 0
    if progress.numInputRows:
        raise ValueError(
            f"query {query.name!r} must not read rows during its warm-up, but it read {progress.numInputRows} rows and "
            f"wrote their results to its sink; use empty source topics"
        )
    return progress.batchId + 1
