import itertools
import json
import time
from datetime import datetime
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from scripts.pack import files
from spark_rtm.realtime.queries import raise_if_failed, wait_until
from spark_rtm.text import markdown
from tests.helpers import eventually, new_topic, produce, records_of
from tests.pages.jobs import ModeJob, send, start, written

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(180)]

PAGE = files.ROOT / "references" / "latency.md"
INTERVAL_SECONDS = 2
UNTIL_TASKS_END = ("latestOffset", "getBatch", "queryPlanning", "addBatch")


def create_topics(kafka: str, clocks: dict[str, str]) -> None:
    """Create topics with one partition; `clocks` maps each name to the `message.timestamp.type`."""
    admin = AdminClient({"bootstrap.servers": kafka})
    topics = [NewTopic(name, 1, config={"message.timestamp.type": clock}) for name, clock in clocks.items()]
    for created in admin.create_topics(topics).values():
        created.result(30)


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


def test_clock_of_a_row_is_text(spark: SparkSession) -> None:
    clock = spark.range(1).selectExpr("reflect('java.lang.System', 'currentTimeMillis') as clock")

    assert [("clock", "string")] == clock.dtypes


def test_batch_query_of_the_page_measures_from_outside(job: ModeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = f"{job.source}-sent", f"{job.source}-received"
    create_topics(job.kafka, dict.fromkeys((source, target), "CreateTime"))
    producer, now_ms = Producer({"bootstrap.servers": job.kafka}), int(time.time() * 1000)
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


def test_timestamp_type_names_the_clock_of_a_record(spark: SparkSession, kafka: str) -> None:
    """A record has the broker's time only if its topic is configured for it; timestampType names the clock."""
    topics = {clock: new_topic(kafka, 1) + clock for clock in ("LogAppendTime", "CreateTime")}
    create_topics(kafka, {topic: clock for clock, topic in topics.items()})
    for topic in topics.values():
        produce(kafka, topic, [(0, b"a")])

    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", kafka)
    rows = reader.option("subscribe", ",".join(topics.values())).load().select("topic", "timestampType").collect()

    assert {topics["LogAppendTime"]: 1, topics["CreateTime"]: 0} == {row.topic: row.timestampType for row in rows}


def test_row_between_two_batches_waits_for_the_next_batch(job: ModeJob) -> None:
    """A row after the end of a batch's tasks is written in the next batch."""
    rows = job.rows().groupBy(F.lit("all").alias("key"))
    newest = rows.agg(F.max(F.unix_millis("timestamp")).cast("string").alias("value")).select("value")
    query = job.copy(newest)

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
