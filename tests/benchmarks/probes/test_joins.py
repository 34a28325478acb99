import time
import uuid

import pytest
from confluent_kafka import Producer

from benchmarks.probes.joins import latencies_ms
from spark_rtm.kafka.topics import ensure_topics

PRODUCERS_TIME = {"message.timestamp.type": "CreateTime"}
BEGIN_MS = int(time.time() * 1000)
pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(60)]


def write(kafka: str, topic: str, *times_ms: tuple[int, int]) -> None:
    """Write records with a number as key and a time after the beginning, to a topic with producer times."""
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})
    for number, time_ms in times_ms:
        producer.produce(topic, b"{}", str(number), timestamp=BEGIN_MS + time_ms)
    assert 0 == producer.flush(30)


def test_latency_counts_from_second_record_and_missing_pairs(kafka: str) -> None:
    """Pair 1 takes 5 ms after its click; pair 0 is before the measurement, pair 2 is missing, pair 3 has no click."""
    impressions, clicks, target = topics = [
        f"test-{name}-{uuid.uuid4().hex[:8]}" for name in ("shown", "clicks", "pairs")
    ]
    ensure_topics(kafka, topics, 1, dict.fromkeys(topics, PRODUCERS_TIME))
    write(kafka, impressions, (0, 1_000), (1, 1_001), (2, 1_002), (3, 1_003))
    write(kafka, clicks, (0, 2_000), (1, 2_001), (2, 2_002))
    write(kafka, target, (0, 2_900), (1, 2_006), (1, 2_500))

    assert ([5], 1) == latencies_ms(kafka, topics, first_number=1)

    write(kafka, target, (3, 3_000))
    with pytest.raises(RuntimeError, match="1 pairs were written that do not exist, for example 3"):
        latencies_ms(kafka, topics, first_number=1)
