import itertools
import json
import time
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryProgress

from scripts.pack import files
from spark_rtm.kafka.topics import CLOCK, PRODUCER_TIME, ensure_topics
from spark_rtm.realtime.queries import raise_if_failed, wait_until
from spark_rtm.text import markdown
from tests.helpers import end_offset, eventually, new_topic, produce, records_of
from tests.pages.examples import definition_of
from tests.pages.jobs import ModeJob, send, start, written

pytestmark = pytest.mark.timeout(180)

PAGE = files.ROOT / "references" / "latency.md"
CASES = json.loads((files.ROOT / "references/measured/latency.json").read_text())["cases"]
RUNS = [case for case in CASES if case["engine"] in ("real-time", "real-time, untuned")]
UNTIL_TASKS_END = ("latestOffset", "getBatch", "queryPlanning", "addBatch")


@pytest.mark.services
def test_progress_follows_the_rows_and_contains_no_latency(job: ModeJob) -> None:
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


@pytest.mark.services
def test_batch_query_of_the_page_measures_from_outside(job: ModeJob, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = f"{job.source}-sent", f"{job.source}-received"
    ensure_topics(job.kafka, (source, target), 1, dict.fromkeys((source, target), PRODUCER_TIME))
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


@pytest.mark.services
def test_timestamp_type_names_the_clock_of_a_record(spark: SparkSession, kafka: str) -> None:
    """A record has the broker's time only if its topic is configured for it; timestampType names the clock."""
    topics = {clock: new_topic(kafka, 1) + clock for clock in ("LogAppendTime", "CreateTime")}
    ensure_topics(kafka, topics.values(), 1, {topic: {CLOCK: clock} for clock, topic in topics.items()})
    for topic in topics.values():
        produce(kafka, topic, [(0, b"a")])

    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", kafka)
    rows = reader.option("subscribe", ",".join(topics.values())).load().select("topic", "timestampType").collect()

    assert {topics["LogAppendTime"]: 1, topics["CreateTime"]: 0} == {row.topic: row.timestampType for row in rows}


@pytest.mark.services
def test_row_between_two_batches_waits_for_the_next_batch(job: ModeJob) -> None:
    rows = job.rows().groupBy(F.lit("all").alias("key"))
    newest = rows.agg(F.max(F.unix_millis("timestamp")).cast("string").alias("value")).select("value")
    query, producer = job.copy(newest, "1 second"), Producer({"bootstrap.servers": job.kafka, "linger.ms": 0})
    sent_ms: list[int] = []

    def gaps() -> list[tuple[float, float]]:
        pairs = itertools.pairwise(query.recentProgress)
        return [
            (start_ms(one) + sum(one.durationMs[p] for p in UNTIL_TASKS_END), start_ms(after)) for one, after in pairs
        ]

    # One record after the other, without a pause, until one is sent between two batches.
    while not any(end <= at < start for end, start in gaps() for at in sent_ms):
        raise_if_failed([query])
        producer.produce(job.source, b"a", on_delivery=lambda _, record: sent_ms.append(record.timestamp()[1]))
        assert 0 == producer.flush(30)
    between = gaps()

    wait_until(lambda: end_offset(job.kafka, job.target) == len(sent_ms), 60, "all results", [query])

    times = [(int(r.value() or b"0"), r.timestamp()[1]) for r in records_of(job.kafka, job.target)]
    waited = [out_at - start for end, start in between for at, out_at in times if end <= at < start]
    assert waited
    assert min(waited) >= 0
    assert all(out_at >= appended_at for appended_at, out_at in times)
    assert min(batch.durationMs["triggerExecution"] for batch in query.recentProgress) > 1000


def start_ms(batch: StreamingQueryProgress) -> float:
    return datetime.fromisoformat(batch.timestamp).timestamp() * 1000


@pytest.mark.parametrize(
    ("event", "latencies"),
    [
        ({"rtmMetrics": {"e2eLatencyMs": {"P0": 1, "P99": 9}}}, {"e2eLatencyMs": {"p0": 1, "p99": 9}}),
        ({"latencies": {"e2eLatencyMs": {"p0": 1, "p99": 9}}}, {"e2eLatencyMs": {"p0": 1, "p99": 9}}),
        ({}, {}),
        ({"rtmMetrics": None}, {}),
    ],
)
def test_both_documented_forms_have_the_same_keys(event: dict[str, Any], latencies: object) -> None:
    """A caller reads `p50`, whichever field and whichever case the runtime uses; OSS 4.3.0 has no latencies."""
    assert latencies == definition_of(PAGE, "latencies_of")(SimpleNamespace(json=json.dumps(event)))


@pytest.mark.parametrize("percent", [99, 99.9])
@pytest.mark.parametrize("case", RUNS, ids=lambda case: f"{case['workload']}, {case['engine']}")
def test_wait_at_a_percentile_follows_from_pause_and_interval(case: dict[str, float], percent: float) -> None:
    pause_ms, interval_seconds = case["pause_median_ms"], 12

    wait_ms = definition_of(PAGE, "wait_ms")(percent, pause_ms, interval_seconds)

    assert case[f"p{percent:g}_ms"] == pytest.approx(case["p50_ms"] + wait_ms, abs=pause_ms / 4)
