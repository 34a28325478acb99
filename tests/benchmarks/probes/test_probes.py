import time
from pathlib import Path

import pytest
from confluent_kafka import Producer
from rich.console import Console

from benchmarks.harness.benchmark import PUBLISHED_DIR, write_json
from benchmarks.probes import drains
from benchmarks.probes.joins import latencies_ms
from benchmarks.probes.probe import PARTITIONS, STEM, outcome_of, when_due
from spark_rtm.kafka.topics import keep_producer_times
from tests.helpers import new_topic, produce

BEGIN_MS = int(time.time() * 1000)


def test_probe_replaces_its_own_published_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of the other probes stay, because each probe is run by its own command."""
    monkeypatch.chdir(tmp_path)
    others = [{"probe": "joins", "p50_ms": 9}, {"probe": "offline-lateness", "p50_ms": 7}]
    write_json({"probes": others}, PUBLISHED_DIR / f"{STEM}.json")

    outcome = outcome_of(Console(quiet=True), "joins", [2, 4, 6], 4, ["late"], rate=200)

    own, other = outcome.content["probes"]
    assert others[1] == other
    expected = {"probe": "joins", "expected": 4, "found": 3, "p50_ms": 4, "max_ms": 6, "rate": 200}
    assert expected.items() <= own.items()
    assert ["1 results are missing", "late"] == outcome.problems


def test_items_come_at_their_times() -> None:
    """A late item does not delay the items after it, so the rate stays the same."""
    begin = time.monotonic()

    items = [(item, time.monotonic() - begin) for item in when_due([(0.0, "a"), (0.05, "b"), (0.01, "c")])]

    assert ["a", "b", "c"] == [item for item, _ in items]
    assert items[1][1] >= 0.05


@pytest.mark.services
def test_missing_and_repeated_results_are_counted(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drains, "FLOW_SECONDS", 4)
    topic = new_topic(kafka, PARTITIONS)
    produce(kafka, topic, [(0, b"0"), (1, b"1"), (0, b"2"), (1, b"2"), (0, b"2")])

    assert drains.differences(kafka, topic, ["0", "1", "2", "3"]) == (1, 2)


@pytest.mark.services
@pytest.mark.timeout(60)
def test_latency_counts_from_second_record_and_missing_pairs(kafka: str) -> None:
    """Pair 1 takes 5 ms after its click; pair 0 is before the measurement, pair 2 is missing, pair 3 has no click."""
    topics = [new_topic(kafka, 1) for _ in ("impressions", "clicks", "pairs")]
    keep_producer_times(kafka, topics)
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})

    def write(topic: str, *times_ms: tuple[int, int]) -> None:
        """Write records with a number as key and a time after the beginning."""
        for number, time_ms in times_ms:
            producer.produce(topic, b"{}", str(number), timestamp=BEGIN_MS + time_ms)
        assert 0 == producer.flush(30)

    write(topics[0], (0, 1_000), (1, 1_001), (2, 1_002), (3, 1_003))
    write(topics[1], (0, 2_000), (1, 2_001), (2, 2_002))
    write(topics[2], (0, 2_900), (1, 2_006), (1, 2_500))

    assert ([5], 1) == latencies_ms(kafka, topics, first_number=1)

    write(topics[2], (3, 3_000))
    with pytest.raises(RuntimeError, match="1 pairs were written that do not exist, for example 3"):
        latencies_ms(kafka, topics, first_number=1)
