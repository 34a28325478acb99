"""
Run short, empty batches of a query before traffic arrives, so the code of the batch boundary is compiled.

A batch boundary runs much code, once per interval. In a new JVM it is slow for about the first hundred intervals,
which are hours of production.
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
    Run `batches` short batches of the queries that `start` starts, then stop them.

    `start` gets a folder for checkpoints and a trigger interval in seconds, and returns running queries: the same as in
    production, but with source topics that hold no records. The folder is created below `parent`, which the executors
    of a cluster must be able to reach, and deleted afterwards.
    Raises ValueError if a query has read records, `QueryFailedError` if a query fails.
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
        # A task that is still running would write into the folder again.
        stop_completely(spark, *queries)
        shutil.rmtree(folder)


def _finished_batches(query: StreamingQuery) -> int:
    progress = query.lastProgress
    if progress is None:
        return 0
    if progress.numInputRows:
        raise ValueError(
            f"query {query.name!r} read {progress.numInputRows} rows during its warm-up and wrote their results to its "
            f"sink; use source topics without records"
        )
    return progress.batchId + 1
