from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime.queries import wait_until
from tests.helpers import records_of
from tests.pages.jobs import ModeJob, new_job, send, written

pytestmark = [pytest.mark.spark, pytest.mark.services]

ROW_MS, INTERVAL_MS, COUNT = 10, 2_000, 400
# A busy machine needs more time for a batch boundary.
SLACK_MS = 3_000


def start_slow(job: ModeJob, *, shuffled: bool) -> StreamingQuery:
    rows = job.rows().select("value")
    rows = rows.groupBy("value").count() if shuffled else rows
    slow = rows.selectExpr("value", f"reflect('java.lang.Thread', 'sleep', {ROW_MS}L) as slept")
    query = job.copy(slow.where("slept is not null").select("value"), f"{INTERVAL_MS // 1000} seconds")
    send(job, "warm")
    wait_until(lambda: written(job) and query.lastProgress, 60, "the first batch", [query])
    return query


def test_backlog_stays_in_the_topic_or_lengthens_the_batch(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """
    Without a shuffle, a burst shows as a lag; with one, the source stage reads ahead of the slow stage.

    In both queries, each row waits for the rows before it.
    """
    jobs = [new_job(spark, kafka, tmp_path / name) for name in ("plain", "shuffled")]
    queries = [start_slow(job, shuffled=job is jobs[1]) for job in jobs]
    for job in jobs:
        send(job, *map(str, range(COUNT)))
    for job, query in zip(jobs, queries, strict=True):
        wait_until(lambda: sum(p.numInputRows for p in query.recentProgress) > COUNT, 60, "the commits", [query])  # noqa: B023
        assert [str(number) for number in range(COUNT)] == written(job)[1:]
        sent, received = (records_of(job.kafka, topic)[1:] for topic in (job.source, job.target))
        # Half of the rows need two seconds.
        waits = [out.timestamp()[1] - record.timestamp()[1] for record, out in zip(sent, received, strict=True)]
        assert waits[0] + COUNT * ROW_MS // 4 < waits[COUNT // 2] < waits[-1] - COUNT * ROW_MS // 4

    plain, shuffled = (
        [
            (p.numInputRows, p.durationMs["triggerExecution"], int(p.sources[0].metrics["maxOffsetsBehindLatest"]))
            for p in query.recentProgress[1:]
        ]
        for query in queries
    )
    lags = [lag for _, _, lag in plain]
    # A transaction's end marker is a lag of 1.
    assert max(lags) > 1
    assert 0 == lags[-1]
    assert sorted(lags[lags.index(max(lags)) :], reverse=True) == lags[lags.index(max(lags)) :]
    assert max(rows for rows, _, _ in plain) * ROW_MS <= 1.25 * INTERVAL_MS
    assert max(execution_ms for _, execution_ms, _ in plain) < INTERVAL_MS + SLACK_MS
    rows, execution_ms, _ = max(shuffled)
    assert rows * ROW_MS > 1.25 * INTERVAL_MS
    assert execution_ms >= rows * ROW_MS
    assert 0 == shuffled[-1][-1]


def test_memory_between_two_stages_is_limited_to_32_mb(spark: SparkSession) -> None:
    config: Any = getattr(spark._jvm.org.apache.spark.internal.config, "package$")  # type: ignore[union-attr]  # noqa: SLF001 - not public
    entries: Any = getattr(config, "MODULE$")

    limits = [entries.STREAMING_SHUFFLE_WRITER_MAX_MEMORY(), entries.STREAMING_SHUFFLE_READER_MAX_MEMORY()]

    assert [
        ("spark.shuffle.streaming.writerMaxMemory", 32 * 1024**2),
        ("spark.shuffle.streaming.readerMaxMemory", 32 * 1024**2),
    ] == [(limit.key(), int(limit.defaultValueString())) for limit in limits]
