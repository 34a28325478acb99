from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_rtm.realtime.queries import wait_until
from tests.helpers import records_of
from tests.pages.jobs import ModeJob, send, written

pytestmark = [pytest.mark.spark, pytest.mark.services]

ROW_MS, INTERVAL_MS, COUNT = 10, 2_000, 400
# A busy machine needs more time for a batch boundary.
SLACK_MS = 3_000


@dataclass(frozen=True)
class Batch:
    rows: int
    milliseconds: int
    lag: int


def overload(job: ModeJob, *, shuffled: bool) -> list[Batch]:
    """Send a burst to a query that needs 10 ms per row; check its output, and return its batches."""
    rows = job.rows().select("value")
    rows = rows.groupBy("value").count() if shuffled else rows
    slow = rows.selectExpr("value", f"reflect('java.lang.Thread', 'sleep', {ROW_MS}L) as slept")
    query = job.copy(slow.where("slept is not null").select("value"), f"{INTERVAL_MS // 1000} seconds")
    send(job, "warm")
    wait_until(lambda: written(job) and query.lastProgress, 60, "the first batch", [query])

    send(job, *map(str, range(COUNT)))
    wait_until(lambda: sum(batch.numInputRows for batch in query.recentProgress) > COUNT, 60, "the commits", [query])
    query.stop()

    assert [str(number) for number in range(COUNT)] == written(job)[1:]
    sent, received = (records_of(job.kafka, topic)[1:] for topic in (job.source, job.target))
    # Half of the rows need two seconds; each row waits for the rows before it.
    waits = [out.timestamp()[1] - record.timestamp()[1] for record, out in zip(sent, received, strict=True)]
    assert waits[0] + COUNT * ROW_MS // 4 < waits[COUNT // 2] < waits[-1] - COUNT * ROW_MS // 4
    return [
        Batch(
            progress.numInputRows,
            progress.durationMs["triggerExecution"],
            int(progress.sources[0].metrics["maxOffsetsBehindLatest"]),
        )
        for progress in query.recentProgress[1:]
    ]


def test_backlog_of_query_without_shuffle_stays_in_the_topic(job: ModeJob) -> None:
    batches = overload(job, shuffled=False)

    lags = [batch.lag for batch in batches]
    # A transaction's end marker is a lag of 1.
    assert max(lags) > 1
    assert 0 == lags[-1]
    assert sorted(lags[lags.index(max(lags)) :], reverse=True) == lags[lags.index(max(lags)) :]
    assert max(batch.rows for batch in batches) * ROW_MS <= 1.25 * INTERVAL_MS
    assert max(batch.milliseconds for batch in batches) < INTERVAL_MS + SLACK_MS


def test_backlog_of_query_with_shuffle_lengthens_the_batch(job: ModeJob) -> None:
    """The source stage reads ahead of the slow stage; the batch ends when all these rows are written, without a lag."""
    batches = overload(job, shuffled=True)

    longest = max(batches, key=lambda batch: batch.rows)
    assert longest.rows * ROW_MS > 1.25 * INTERVAL_MS
    assert longest.milliseconds >= longest.rows * ROW_MS
    assert 0 == batches[-1].lag


def test_memory_between_two_stages_is_limited_to_32_mb(spark: SparkSession) -> None:
    """Spark limits the rows that wait in each task that writes to a shuffle or reads from it."""
    config: Any = getattr(spark._jvm.org.apache.spark.internal.config, "package$")  # type: ignore[union-attr]  # noqa: SLF001 - not public
    entries: Any = getattr(config, "MODULE$")

    limits = [entries.STREAMING_SHUFFLE_WRITER_MAX_MEMORY(), entries.STREAMING_SHUFFLE_READER_MAX_MEMORY()]

    assert [
        ("spark.shuffle.streaming.writerMaxMemory", 32 * 1024**2),
        ("spark.shuffle.streaming.readerMaxMemory", 32 * 1024**2),
    ] == [(limit.key(), int(limit.defaultValueString())) for limit in limits]
