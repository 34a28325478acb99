"""Code blocks and jobs for readers, with one record just above each limit of clients, topics and jobs."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Message, Producer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.alerts.job import Options
from examples.alerts.job import start as start_alert
from examples.alerts.payments_to_flagged import JOB
from examples.attribution.pipeline import query_starters
from examples.attribution.settings import DemoSettings
from examples.attribution.topics import create_topics
from scripts.pack import files
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.limits import MAX_KEY_BYTES, MAX_RAW_BYTES, MAX_RECORD_BYTES
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import wait_until
from spark_rtm.text import markdown
from tests.pages.samples import avro_click

pytestmark = [pytest.mark.spark, pytest.mark.services]


class Started(NamedTuple):
    """A query, its source topic, its targets for good and rejected records, and an accepted record."""

    query: StreamingQuery
    topics: list[str]
    record: bytes


Start = Callable[[SparkSession, str, Path], Started]


def block_of(page: str, source: str, accepted: str, rejected: str, record: bytes) -> Start:
    """Return a function that runs the first query of a page with separate topics."""

    def start(spark: SparkSession, kafka: str, folder: Path) -> Started:
        text = (files.ROOT / "references" / f"{page}.md").read_text(encoding="utf-8")
        code = next(
            fence.code for fence in markdown.fences(text) if fence.language == "python" and ".start()" in fence.code
        )
        own = [f"{name}-{folder.name}" for name in (source, accepted, rejected)]
        for name, topic in zip((source, accepted, rejected), own, strict=True):
            code = code.replace(f'"{name}"', f'"{topic}"')
        code = code.replace('"checkpoints/', f'"{folder}/')
        ensure_topics(kafka, own, 1)
        names: dict[str, Any] = {"spark": spark}
        exec(code, names)  # the page's own code
        return Started(names["query"], own, record)

    return start


def production(spark: SparkSession, kafka: str, folder: Path) -> Started:
    """Start the production page's query that reads foreign records."""
    settings = DemoSettings(topic_prefix=f"{folder.name}.")
    partitions = create_topics(kafka, settings.topic_prefix, settings.partitions)
    query = query_starters(settings, spark, kafka, partitions, str(folder))["kafka_to_events"]()
    times = dict.fromkeys(("event_ts", "server_ts", "request_ts"), int(time.time() * 1000))
    ids = {"event_id": "e", "kind": "request", "transaction_id": "t", "campaign_id": "c", "slots": ["s"]}
    topics = [settings.topic(name) for name in ("ad-requests", "events", "ad-rejected")]
    return Started(query, topics, json.dumps(ids | times).encode())


def alert(spark: SparkSession, kafka: str, folder: Path) -> Started:
    """Start a job of the page on alerts; without rules, it flags each payment."""
    options = Options(kafka, topic_prefix=f"{folder.name}.", checkpoint_dir=str(folder))
    topics = [options.topic_prefix + name for name in ("payments", "payments-flagged", "payments-rejected")]
    payment = b'{"payment_id":"p","card":"c","country":"NL","amount_cents":1}'
    return Started(start_alert(JOB, spark, options), topics, payment)


PAYMENT, CLICK = b'{"card":"c","amount_cents":5}', b'{"click_id":"k","ts":"2026-11-26T00:00:00Z"}'
TIMED = json.dumps({"click_id": "k", "user_id": "u", "ad_id": "a", "ts": int(time.time() * 1000)}).encode()
OF_TIMED = (100_000, 900_000, 1_000, True)
OF_JOBS = (MAX_RECORD_BYTES, MAX_RAW_BYTES, MAX_KEY_BYTES, True)
CASES: dict[str, tuple[Start, int, int, int, bool]] = {
    "kafka_patterns": (
        block_of("kafka_patterns", "payments", "payments-checked", "payments-rejected", PAYMENT),
        *(900_000, 900_000, 1_000, False),
    ),
    "errors_in_rows": (
        block_of("errors_in_rows", "clicks", "clicks-enriched", "clicks-rejected", CLICK),
        *(900_000, 900_000, 1_000, False),
    ),
    "formats": (
        block_of("formats", "clicks-avro", "clicks-enriched", "clicks-rejected", avro_click(1, "k1", "u1")),
        *(100_000, 900_000, 1_000, False),
    ),
    "monitoring": (
        block_of("monitoring", "payments", "payments-checked", "payments-rejected", PAYMENT),
        *(900_000, 900_000, 1_000, False),
    ),
    "pacing": (block_of("pacing", "clicks", "clicks-counted", "clicks-rejected", TIMED), *OF_TIMED),
    "production": (production, *OF_JOBS),
    "alerts": (alert, *OF_JOBS),
}
"""The start, the longest value, the kept length of a rejected value and key, and whether the key may be longer."""


@pytest.mark.timeout(200)
@pytest.mark.parametrize("name", CASES)
def test_compressed_record_above_a_limit_does_not_end_the_query(
    spark: SparkSession, kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A producer that compresses can put a record above the limits into the source topic."""
    start, longest, raw, kept_key, is_own_key = CASES[name]
    monkeypatch.chdir(tmp_path)
    for variable, text in {"KAFKA_BOOTSTRAP_SERVERS": kafka, "CHECKPOINTS": str(tmp_path), "METRICS_PORT": "0"}.items():
        monkeypatch.setenv(variable, text)
    started = start(spark, kafka, tmp_path)
    source, accepted, rejected = started.topics
    assert_real_time(started.query)  # from now on, a query that starts at the end of its topic reads new records
    short, keys = started.record, (b"k" * kept_key, b"k" * 1_200_000)
    values = [short + b" " * (length - len(short)) for length in (longest, longest + 1, raw, 1_300_000)]
    producer = Producer({"bootstrap.servers": kafka, "compression.type": "gzip", "message.max.bytes": 4_000_000})
    for key, value in [*((b"k", value) for value in values), *((key, short) for key in keys)]:
        producer.produce(source, value, key)
    assert 0 == producer.flush(30)

    found: list[Message] = []

    def is_complete() -> bool:
        found[:] = read_topic(kafka, accepted, rejected)
        return len({message.topic() for message in found}) == 2 and len(found) >= 6

    wait_until(is_complete, 90, "six records", [started.query])
    good, bad = (sorted(map(sizes, (m for m in found if m.topic() == topic))) for topic in (accepted, rejected))
    too_long = [(1, min(raw, length)) for length in (longest + 1, raw, 1_300_000) if length > longest]
    assert sorted([*too_long, *([] if is_own_key else [(kept_key, len(short))])]) == bad
    assert 6 - len(bad) == len(good)


def sizes(message: Message) -> tuple[int, int]:
    return len(message.key() or b""), len(message.value() or b"")
