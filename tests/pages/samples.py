"""
Topics that the pages use, and sample records for the topics that a code block reads.

Other topics do not exist on the broker of the tests, so a page can also show what happens with an unknown topic.
"""

import functools
import itertools
import json
import time
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Producer

from examples.attribution.settings import DemoSettings
from examples.attribution.topics import SOURCE_TOPICS, TOPICS
from examples.attribution.traffic.generator import TrafficGenerator
from spark_rtm.kafka.topics import ensure_topics

PARTITIONS = 2
# Tests send no records to these topics, so every record in them was written by a query.
TARGETS = (
    "alerts",
    "payments-checked",
    "payments-rejected",
    "payments-totals",
    "clicks-enriched",
    "clicks-rejected",
    "clicks-counted",
    "copy",
)

Sample = tuple[str, bytes]


def _json(key: str, **fields: object) -> Sample:
    return key, json.dumps(fields).encode()


def avro_click(schema_id: int, *texts: str) -> bytes:
    """Return texts of at most 63 bytes as an Avro record of string fields in the format of a schema registry."""
    return b"\0" + schema_id.to_bytes(4, "big") + b"".join(bytes([2 * len(t)]) + t.encode() for t in texts)


def _samples() -> dict[str, list[Sample]]:
    now = int(time.time() * 1000)
    settings = DemoSettings(warm_up_seconds=0, erasure_share=0)
    traffic = TrafficGenerator(settings, settings.windows, "pages", time.time())
    ads: dict[str, list[Sample]] = {topic: [] for topic in SOURCE_TOPICS}
    for record in itertools.islice(traffic.records(), 200):
        ads[record.topic].append((record.key, record.value or b""))
    users: list[dict[str, Any]] = [{"user_id": f"u{n % 3}", "ad_id": f"a{n % 2}", "ts": now + n} for n in range(8)]
    return ads | {
        "clicks": [_json(user["user_id"], click_id=f"k{n}", **user) for n, user in enumerate(users)],
        "clicks-avro": [(f"u{n % 3}", avro_click(1, f"k{n}", f"u{n % 3}")) for n in range(8)],
        "impressions": [_json(user["user_id"], **user) for user in users],
        "payments": [
            _json(
                f"c{n % 3}",
                payment_id=f"p{n}",
                card=f"c{n % 3}",
                amount=50.0 * n,
                amount_cents=5_000 * n,
                country="NL",
                ts=now + n,
            )
            for n in range(8)
        ],
        "payment-rules": [_json("NL", limit_cents=10_000)],
    }


SAMPLES = _samples()
SOURCES = tuple(SAMPLES)
ALL_TOPICS = tuple(dict.fromkeys([*SOURCES, *TOPICS, *TARGETS]))


def create_page_topics(kafka: str) -> None:
    assert {PARTITIONS} == set(ensure_topics(kafka, ALL_TOPICS, PARTITIONS).values())


def feed(kafka: str, topics: Sequence[str]) -> None:
    producer = _producer_of(kafka)
    for topic in topics:
        for number, (key, value) in enumerate(SAMPLES[topic]):
            producer.produce(topic, value, key, partition=number % PARTITIONS)
    assert 0 == producer.flush(30)


@functools.cache
def _producer_of(kafka: str) -> Producer:
    return Producer({"bootstrap.servers": kafka, "linger.ms": 0, "log_level": 2})
