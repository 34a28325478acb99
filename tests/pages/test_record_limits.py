"""Code blocks and jobs for readers, with one record just above each limit of clients, topics and jobs."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message, Producer
from pyspark.sql import SparkSession

from examples.alerts.job import Options
from examples.alerts.job import start as start_alert
from examples.alerts.payments_to_flagged import JOB
from scripts.pack import files
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.realtime.limits import MAX_RECORD_BYTES
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import wait_until
from spark_rtm.text import markdown
from tests.pages.running import run_with_own_topics
from tests.pages.samples import avro_click

pytestmark = [pytest.mark.spark, pytest.mark.services]


RAW_BYTES, KEY_BYTES = 900_000, 1_000
"""The lengths to which the code blocks of the pages cut a rejected value and its key."""
PAYMENTS = ("payments", "payments-checked", "payments-rejected")
CLICKS = ("clicks", "clicks-enriched", "clicks-rejected")
PAYMENT, CLICK = b'{"card":"c","amount_cents":5}', b'{"click_id":"k","ts":"2026-11-26T00:00:00Z"}'
TIMED = json.dumps({"click_id": "k", "user_id": "u", "ad_id": "a", "ts": int(time.time() * 1000)}).encode()
ALERT = b'{"payment_id":"p","card":"c","country":"NL","amount_cents":1}'
CASES: dict[str, tuple[tuple[str, ...], bytes, int, bool]] = {
    "kafka_patterns": (PAYMENTS, PAYMENT, RAW_BYTES, False),
    "errors_in_rows": (CLICKS, CLICK, RAW_BYTES, False),
    "formats": (("clicks-avro", *CLICKS[1:]), avro_click(1, "k1", "u1"), MAX_RECORD_BYTES, False),
    "monitoring": (PAYMENTS, PAYMENT, RAW_BYTES, False),
    "pacing": (("clicks", "clicks-counted", "clicks-rejected"), TIMED, MAX_RECORD_BYTES, True),
    "alerts": (("payments", "payments-flagged", "payments-rejected"), ALERT, MAX_RECORD_BYTES, True),
}
"""
The source topic, the targets for good and rejected records, an accepted record, and the longest value.

The last value is whether the query writes its own keys, so the key of the record may be longer.
"""


def start(page: str, topics: tuple[str, ...], spark: SparkSession, kafka: str, folder: Path) -> tuple[Any, list[str]]:
    if page == "alerts":
        options = Options(kafka, topic_prefix=f"{folder.name}.", checkpoint_dir=str(folder))
        return start_alert(JOB, spark, options), [options.topic_prefix + name for name in topics]
    fences = markdown.fences((files.ROOT / "references" / f"{page}.md").read_text(encoding="utf-8"))
    code = next(fence.code for fence in fences if fence.language == "python" and ".start()" in fence.code)
    names, own = run_with_own_topics(code, topics, spark, kafka, folder)
    return names["query"], own


@pytest.mark.timeout(260)
@pytest.mark.parametrize("page", CASES)
def test_compressed_record_above_a_limit_does_not_end_the_query(
    spark: SparkSession, kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """A producer that compresses can put a record above the limits into the source topic."""
    topics, short, longest, is_own_key = CASES[page]
    raw, kept_key = (1_000_000, 1_024) if page == "alerts" else (RAW_BYTES, KEY_BYTES)
    monkeypatch.chdir(tmp_path)
    for variable, text in {"KAFKA_BOOTSTRAP_SERVERS": kafka, "CHECKPOINTS": str(tmp_path), "METRICS_PORT": "0"}.items():
        monkeypatch.setenv(variable, text)
    query, (source, accepted, rejected) = start(page, topics, spark, kafka, tmp_path)
    assert_real_time(query)  # from now on, a query that starts at the end of its topic reads new records
    sent = [(1, longest), (1, longest + 1), (1, raw), (2_000, 1_300_000)]
    records = [
        *((b"k" * n, short.ljust(length)) for n, length in sent),
        *((b"k" * n, short) for n in (kept_key, 1_200_000)),
    ]
    producer = Producer({"bootstrap.servers": kafka, "compression.type": "gzip", "message.max.bytes": 4_000_000})
    for key, value in records:
        producer.produce(source, value, key)
    assert 0 == producer.flush(30)

    found: list[Message] = []

    def is_complete() -> bool:
        found[:] = read_topic(kafka, accepted, rejected)
        return len({message.topic() for message in found}) == 2 and len(found) >= 6

    wait_until(is_complete, 150, "six records", [query])
    good, bad = (sorted(map(sizes, (m for m in found if m.topic() == topic))) for topic in (accepted, rejected))
    too_long = [(min(n, kept_key), min(raw, length)) for n, length in sent if length > longest]
    assert sorted([*too_long, *([] if is_own_key else [(kept_key, len(short))])]) == bad
    assert 6 - len(bad) == len(good)


def sizes(message: Message) -> tuple[int, int]:
    return len(message.key() or b""), len(message.value() or b"")
