import itertools
import json
import time
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from scripts.pack import files
from spark_rtm.realtime.queries import raise_if_failed, wait_until
from spark_rtm.text import markdown
from tests.helpers import end_offset, eventually, kafka_rows, new_topic, records_of, start_to_kafka
from tests.pages.jobs import ModeJob, send, start, written

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(180)]

PAGE = files.ROOT / "references" / "latency.md"
INTERVAL_SECONDS = 2
ROW_CLOCK = "reflect('java.lang.System', 'currentTimeMillis')"
UNTIL_TASKS_END = ("latestOffset", "getBatch", "queryPlanning", "addBatch")


@pytest.fixture
def job(spark: SparkSession, kafka: str, tmp_path: Path) -> ModeJob:
    return ModeJob(spark, kafka, new_topic(kafka, 1), new_topic(kafka, 1), tmp_path / "checkpoint")


def start_values(job: ModeJob, values: DataFrame, interval: str = "2 seconds") -> StreamingQuery:
    return start_to_kafka(values, job.kafka, job.checkpoint, interval, topic=job.target)


def records(job: ModeJob) -> DataFrame:
    return kafka_rows(job.spark, job.kafka, job.source)


def has_written(job: ModeJob, count: int) -> bool:
    return end_offset(job.kafka, job.target) >= count


def test_progress_follows_the_rows_and_contains_no_latency(job: ModeJob) -> None:
    """Rows are written before the batch ends; its event contains durations of the batch, but no latency of a row."""
    send(job, "a")
    query = start(job, "real-time", "5 seconds")

    wait_until(lambda: written(job), 60, "a record", [query])

    assert query.lastProgress is None
    eventually(lambda: query.lastProgress, 60, "the end of the batch")
    progress = json.loads(query.recentProgress[0].json)
    assert set() == {"rtmMetrics", "latencies"} & set(progress)
    phases = {*UNTIL_TASKS_END, "walCommit", "commitOffsets", "triggerExecution"}
    assert phases == set(progress["durationMs"])
    assert {"avgOffsetsBehindLatest", "maxOffsetsBehindLatest"} <= set(progress["sources"][0]["metrics"])


def test_current_timestamp_is_constant_within_a_batch(job: ModeJob) -> None:
    """Two rows of one batch have the same current_timestamp, but `reflect` returns the time of each row as text."""
    clocks = f"concat_ws(' ', unix_millis(current_timestamp()), {ROW_CLOCK}) as value"
    query = start_values(job, records(job).selectExpr(clocks), "1 hour")
    for count in (1, 2):
        send(job, "a")
        wait_until(partial(has_written, job, count), 60, f"{count} records", [query])

    assert [("clock", "string")] == job.spark.range(1).selectExpr(f"{ROW_CLOCK} as clock").dtypes
    (batch, first), (same_batch, second) = (value.split() for value in written(job))

    assert batch == same_batch
    assert int(batch) <= int(first) < int(second)


def test_batch_query_of_the_page_measures_from_outside(job: ModeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"message.timestamp.type": "CreateTime"}
    admin, producer = AdminClient({"bootstrap.servers": job.kafka}), Producer({"bootstrap.servers": job.kafka})
    source, target = f"{job.source}-sent", f"{job.source}-received"
    for created in admin.create_topics([NewTopic(name, 1, config=config) for name in (source, target)]).values():
        created.result(30)
    now_ms = int(time.time() * 1000)
    for topic, key, after_ms in (
        (source, "a", 0),
        (source, "b", 1_000),
        (source, "lost", 2_000),
        (target, "a", 7),
        (target, "b", 1_030),
        (target, "b", 1_500),
    ):
        producer.produce(topic, b"", key, timestamp=now_ms + after_ms)
    assert 0 == producer.flush(30)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", job.kafka)
    text = PAGE.read_text(encoding="utf-8")
    code = next(fence.code for fence in markdown.fences(text) if "as missing" in fence.code)
    names: dict[str, Any] = {"spark": job.spark}

    exec(code.replace('"clicks"', repr(source)).replace('"copy"', repr(target)), names)

    assert {"records": 3, "missing": 1, "p99": 30} == names["row"].asDict()


@pytest.mark.parametrize(("clock", "kind"), [("LogAppendTime", 1), ("CreateTime", 0)])
def test_timestamp_type_names_the_clock_of_a_record(
    spark: SparkSession, kafka: str, tmp_path: Path, clock: str, kind: int
) -> None:
    """A record has the broker's time only if its topic is configured for it; timestampType names the clock."""
    source = new_topic(kafka, 1) + clock
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(source, 1, config={"message.timestamp.type": clock})])[source].result(30)
    job = ModeJob(spark, kafka, source, new_topic(kafka, 1), tmp_path / "checkpoint")
    send(job, "a")

    query = start_values(job, records(job).selectExpr("cast(timestampType as string) as value"))

    wait_until(lambda: written(job), 60, "a record", [query])
    assert [str(kind)] == written(job)


def test_row_between_two_batches_waits_for_the_next_batch(job: ModeJob) -> None:
    """A row after the end of a batch's tasks is written in the next batch."""
    newest = records(job).groupBy(F.lit("all").alias("key")).agg(F.max(F.unix_millis("timestamp")).alias("at"))
    query = start_values(job, newest.selectExpr("cast(at as string) as value"))

    def send_and_find_waiting_rows() -> list[tuple[int, float]]:
        for _ in range(8):
            send(job, "a")
        raise_if_failed([query])
        return between_batches(job, query)

    waited = eventually(send_and_find_waiting_rows, 120, "a row between two batches")

    assert all(out_at >= next_start for out_at, next_start in waited)
    assert all(out_at >= appended_at for appended_at, out_at in times(job))
    executions = [progress.durationMs["triggerExecution"] for progress in query.recentProgress]
    assert min(executions) > 1000 * INTERVAL_SECONDS


def between_batches(job: ModeJob, query: StreamingQuery) -> list[tuple[int, float]]:
    """Return write times of rows between two batches, and the start of the next batch."""
    batches = [(datetime.fromisoformat(p.timestamp).timestamp() * 1000, p.durationMs) for p in query.recentProgress]
    results = times(job) if len(batches) > 2 else []
    return [
        (out_at, next_start)
        for (begin, durations), (next_start, _) in itertools.pairwise(batches)
        for appended_at, out_at in results
        if begin + sum(durations[phase] for phase in UNTIL_TASKS_END) <= appended_at < next_start
    ]


def times(job: ModeJob) -> list[tuple[int, int]]:
    return [(int(r.value() or b"0"), r.timestamp()[1]) for r in records_of(job.kafka, job.target)]
