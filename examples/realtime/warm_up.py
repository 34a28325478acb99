"""
Run the boundary between two batches often before traffic arrives, so that its code is compiled.

A function that starts a query arrives; what it started has stopped when `warm_up` returns, and nothing was processed.
The boundary is long code that runs once per interval: in a new process it is slow for the first hundred intervals,
which are hours of production.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.realtime.queries import stop_completely, wait_until

BATCHES = 100
INTERVAL_SECONDS = 0.25
LEAST_INTERVAL = "spark.sql.streaming.realTimeMode.minBatchDuration"
LEAST_INTERVAL_MS = "100"
TIMEOUT_SECONDS = 300.0

Start = Callable[[Path, float], Iterable[StreamingQuery]]


def warm_up(spark: SparkSession, start: Start, batches: int = BATCHES, parent: Path | None = None) -> None:
    """
    Run short empty batches of what `start` starts, and stop it.

    `start` gets a folder for checkpoints and a trigger interval in seconds, and returns running queries, the same as
    production will run but on source topics without records. The folder is made below `parent`, which executors
    of a cluster must reach, and deleted in the end.
    Raises ValueError if a query has read records, `QueryFailedError` if one fails.
    """
    before = str(spark.conf.get(LEAST_INTERVAL))
    queries, folder = list[StreamingQuery](), Path(tempfile.mkdtemp(prefix="warm-up-", dir=parent))
    spark.conf.set(LEAST_INTERVAL, LEAST_INTERVAL_MS)
    try:
        queries += start(folder, INTERVAL_SECONDS)
        wait_until(lambda: all(_done(query) >= batches for query in queries), TIMEOUT_SECONDS, "warm-up", queries)
    finally:
        spark.conf.set(LEAST_INTERVAL, before)
        # A task that outlives its query would write into the folder again.
        stop_completely(spark, *queries)
        shutil.rmtree(folder)


def _done(query: StreamingQuery) -> int:
    progress = query.lastProgress
    if progress is None:
        return 0
    if progress.numInputRows:
        raise ValueError(
            f"query {query.name!r} has read {progress.numInputRows} rows during its warm-up, and what it made of them "
            f"is in its sink; let it read topics without records"
        )
    return progress.batchId + 1
