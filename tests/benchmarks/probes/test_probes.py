import time
from pathlib import Path

import pytest
from confluent_kafka import Producer
from rich.console import Console

from benchmarks.harness.benchmark import PUBLISHED_DIR, write_json
from benchmarks.probes import drains, kills
from benchmarks.probes.probe import PARTITIONS, STEM, outcome_of, when_due
from tests.helpers import new_topic, produce


def test_probe_replaces_its_own_published_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of the other probes stay, because each probe is run by its own command."""
    monkeypatch.chdir(tmp_path)
    others = [{"probe": "drains", "p50_ms": 9}, {"probe": "python-path", "p50_ms": 7}]
    write_json({"probes": others}, PUBLISHED_DIR / f"{STEM}.json")

    outcome = outcome_of(Console(quiet=True), "drains", [2, 4, 6], 4, ["late"], rate=200)

    own, other = outcome.content["probes"]
    assert others[1] == other
    expected = {"probe": "drains", "expected": 4, "found": 3, "p50_ms": 4, "max_ms": 6, "rate": 200}
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
def test_readers_of_committed_records_miss_aborted_ones(kafka: str) -> None:
    topic = new_topic(kafka, PARTITIONS)
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": topic})
    producer.init_transactions()
    for values, end in (("022", producer.commit_transaction), ("1", producer.abort_transaction)):
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, key="k")
        end()

    assert (1, 1) == kills.differences(kafka, "copy", topic, ["0", "1", "2"])
