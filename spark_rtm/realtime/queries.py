"""
Wait for streaming queries, report their failures and stop them.

Spark reports most of a query's errors only after `start()` has returned, through the query's `exception()` method.
"""

from __future__ import annotations

import re
import signal
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

KAFKA_SINK = {
    # By default, Kafka 4's Java client waits 5 ms for more records before it sends a batch.
    "kafka.linger.ms": "0",
    # Event Hubs closes the connection after a request of 1,046,528 bytes. Records that `decoding` rejects are smaller.
    "kafka.max.request.size": "1040000",
}
"""Kafka sink options for a real-time query."""
CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
NOT_EMPTY_FOLDER = re.compile(r"checkpoint location (.+/(?:offsets|commits)) should be empty")
HIDDEN = re.compile(r"\.0\.[0-9a-f-]{36}\.tmp")
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.05, 0.5


class QueryFailedError(RuntimeError):
    """Raised if a streaming query has failed, usually after `start()` has returned."""

    def __init__(self, query_name: str, condition: str | None, message: str) -> None:
        """Store the query's name and its error condition, for example `CAST_INVALID_INPUT`."""
        super().__init__(f"query {query_name!r} failed with {condition or 'an error without condition'}: {message}")
        self.query_name = query_name
        self.condition = condition


def raise_if_failed(queries: Iterable[StreamingQuery]) -> None:
    """Raise `QueryFailedError` for the first failed query."""
    for query in queries:
        exception = query.exception()
        if exception is not None:
            text = str(exception)
            conditions = [name for name in CONDITION.findall(text) if name != "STREAM_FAILED"]
            message = text.split("\n\n", maxsplit=1)[0].split("JVM stacktrace", maxsplit=1)[0].strip()
            line = " ".join(map(printable, message.splitlines()))
            raise QueryFailedError(query.name, next(iter(conditions), None), line) from exception


def wait_until(
    is_true: Callable[[], object], deadline_seconds: float, what: str, queries: Iterable[StreamingQuery] = ()
) -> None:
    """
    Wait until `is_true()` returns a true value.

    Raises `QueryFailedError` as soon as one of `queries` fails, and `TimeoutError` after the deadline.
    """
    pause, start = threading.Event(), time.monotonic()
    while not is_true():
        raise_if_failed(queries)
        elapsed = time.monotonic() - start
        if elapsed > deadline_seconds:
            raise TimeoutError(f"timed out after {deadline_seconds:g} s waiting for {what}")
        # Each check costs driver CPU time, so a long wait checks less often.
        pause.wait(min(max(elapsed / 10, MIN_POLL_SECONDS), MAX_POLL_SECONDS))


def stop_completely(spark: SparkSession, *queries: StreamingQuery, deadline_seconds: float = 60) -> None:
    """
    Stop queries and wait until their last task has ended.

    `stop()` alone may return 0.1 s before the last task ends. A restart would process records from that time again.
    """
    for query in queries:
        query.stop()
    wait_until(lambda: not any(has_tasks(spark, query) for query in queries), deadline_seconds, "tasks to end")


def drain(spark: SparkSession, query: StreamingQuery, deadline_seconds: float) -> None:
    """
    Stop a query so that a restart creates no duplicates. Call this function after the input has ended.

    The function waits until the open batch is committed, followed by one batch without rows and without unread Kafka
    offsets, or by two successive batches without rows. This usually takes at most four trigger intervals. Raises
    `TimeoutError` after `deadline_seconds`, for example if the input has not ended. The query then still runs.
    """
    last = query.lastProgress
    open_batch = last.batchId + 1 if last else None

    def is_drained() -> bool:
        nonlocal open_batch
        last_two = query.recentProgress[-2:]
        if not last_two:
            return False
        before, newest = last_two[0], last_two[-1]
        if open_batch is None:  # A restarted query does not begin with batch 0.
            open_batch = newest.batchId
        if newest.batchId <= open_batch or newest.numInputRows:
            return False
        # A batch whose tasks start after its end also reads no rows. Transaction markers are never read.
        unread = any(int(source.metrics.get("maxOffsetsBehindLatest", 0)) for source in newest.sources)
        return not unread or (before.batchId > open_batch and not before.numInputRows)

    wait_until(is_drained, deadline_seconds, f"query {query.name!r} to commit a batch without input rows", [query])
    stop_completely(spark, query)


def clear_first_commit(spark: SparkSession, message: str) -> bool:
    """
    Delete the hidden file left by a process that ended during a query's first commit.

    This file prevents the query from starting: `STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`, with the folder in its
    message. The file is not yet a part of the checkpoint, so the next run repeats the batch. Returns False, and deletes
    nothing, if the folder contains any other file.
    """
    found = NOT_EMPTY_FOLDER.search(message)
    if not found:
        return False
    folder = spark._jvm.org.apache.hadoop.fs.Path(found[1])  # type: ignore[union-attr] # noqa: SLF001 - no public API
    files = folder.getFileSystem(spark._jsc.hadoopConfiguration())  # noqa: SLF001 - no public API
    paths = [status.getPath() for status in files.listStatus(folder)]
    if not all(HIDDEN.fullmatch(path.getName()) for path in paths):
        return False
    for path in paths:
        files.delete(path, False)
    return True


def printable(text: str) -> str:
    """Escape control characters, because record values in an error message may contain terminal commands."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def stop_on_interrupt(stop: threading.Event) -> None:
    """
    Set `stop` on the first Ctrl-C or SIGTERM, and raise KeyboardInterrupt on the second.

    With PySpark's own SIGINT handler, Ctrl-C would cancel the running jobs, so queries would fail instead of stopping.
    """

    def handle(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)


def has_tasks(spark: SparkSession, query: StreamingQuery) -> bool:
    """
    Return whether the query has a running job or task.

    Until the next heartbeat, for up to 10 s, Spark can report no tasks for a new batch. After the job has ended, the
    number is exact.
    """
    tracker = spark.sparkContext.statusTracker()
    jobs = [job for job in map(tracker.getJobInfo, tracker.getJobIdsForGroup(str(query.runId))) if job]
    stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
    return any(job.status == "RUNNING" for job in jobs) or any(stage.numActiveTasks for stage in stages if stage)
