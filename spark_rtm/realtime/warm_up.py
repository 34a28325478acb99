"""
Run short, empty batches before traffic starts, so that the JVM compiles the code for batch boundaries.

A query runs this code only once per trigger interval. In a new JVM, about the first hundred boundaries are slow, and
with production intervals the slow phase lasts hours.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from .control import SOURCE, ControlError, commit, obeys, scala_object
from .queries import stop_completely, wait_until

BATCHES = 100
INTERVAL_SECONDS = 0.25
MIN_INTERVAL_CONF = "spark.sql.streaming.realTimeMode.minBatchDuration"
WARM_UP_MIN_INTERVAL_MS = "100"
TIMEOUT_SECONDS = 300.0
SILENT_BATCHES = 5
SOURCE_SECONDS = 20.0

Start = Callable[[Path, float], Iterable[StreamingQuery]]


def warm_up(spark: SparkSession, start: Start, batches: int = BATCHES, parent: Path | None = None) -> None:
    """
    Run `batches` short batches of the queries that `start` starts, and then stop the queries.

    `start` takes a folder for checkpoints and a trigger interval in seconds, and returns the running queries. Use the
    same queries as in production, but with empty source topics. The checkpoint folder is created below `parent` and
    deleted afterwards. On a cluster, all executors need access to `parent`. Raises ValueError if a query has read
    records, and `QueryFailedError` if a query fails.
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


def warm_up_silently(
    spark: SparkSession,
    starters: Callable[[Path], Mapping[str, Callable[[], StreamingQuery]]],
    parent: Path,
    is_over: Callable[[], object] = lambda: False,
    batches: int = SILENT_BATCHES,
) -> None:
    """
    Run batches of queries without reading records, even while another process runs the same queries.

    `starters` takes a folder for checkpoints, created below `parent` and deleted afterwards, and returns the functions
    that start the queries. The warm-up ends early when `is_over` returns a true value.
    Raises `ControlError` if a query has sources other than `rtm-kafka`.
    """
    queries, folder = list[StreamingQuery](), Path(tempfile.mkdtemp(prefix="warm-up-", dir=parent))
    try:
        with _reading_nothing() as reads_nothing:
            for start in starters(folder).values():
                queries.append(start())
                _require_silence(queries[-1], reads_nothing)
                if is_over():
                    return
            for _ in range(batches):
                for query in filter(obeys, queries):
                    commit(query, TIMEOUT_SECONDS)
                if is_over():
                    return
            wait_until(lambda: all(map(_finished_batches, queries)), TIMEOUT_SECONDS, "warm-up", queries)
    finally:
        stop_completely(spark, *queries)
        shutil.rmtree(folder)


@contextmanager
def _reading_nothing() -> Iterator[Callable[[StreamingQuery], bool]]:
    """
    Make `rtm-kafka` sources in queries that start in the block read nothing, so that a warm-up writes no results.

    Yields a function that returns whether a query has an `rtm-kafka` source. Raises `ControlError` if the session lacks
    this source.
    """
    commands = scala_object()
    if commands is None or not commands.isUsable():
        problem = f"this session has no source {SOURCE!r}, so a warm-up would read and write records"
        raise ControlError(f"{problem}; omit the warm-up")
    commands.silence(True)
    try:
        yield lambda query: commands.silentSources(str(query.runId)) > 0
    finally:
        commands.silence(False)


def _require_silence(query: StreamingQuery, reads_nothing: Callable[[StreamingQuery], bool]) -> None:
    def is_known() -> bool:
        return reads_nothing(query) or query.lastProgress is not None

    try:
        wait_until(is_known, SOURCE_SECONDS, f"the sources of {query.name!r}", [query])
    except TimeoutError:
        query.stop()
    if not reads_nothing(query):
        raise ControlError(
            f"query {query.name!r} has a source that reads records during the warm-up, so it may have written results "
            "a second time; use the source 'rtm-kafka'"
        )


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
