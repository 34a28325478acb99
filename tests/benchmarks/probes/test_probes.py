from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Producer
from rich.console import Console

from benchmarks.harness.benchmark import PUBLISHED_DIR, write_json
from benchmarks.probes import drains, kills
from benchmarks.probes.probe import PARTITIONS, STEM, outcome_of
from spark_rtm.services.child import running
from spark_rtm.services.kafka import LocalKafka
from tests.helpers import new_topic


def test_probe_replaces_its_own_published_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The published rows of other probes are kept, because each probe has its own command."""
    monkeypatch.chdir(tmp_path)
    others = [{"probe": "drains", "p50_ms": 9}, {"probe": "drains-on-a-cluster", "p50_ms": 7}]
    write_json({"probes": others}, PUBLISHED_DIR / f"{STEM}.json")

    outcome = outcome_of(Console(quiet=True), "drains", [2, 4, 6], 4, ["late"], rate=200)

    own, other = outcome.content["probes"]
    assert others[1] == other
    expected = {"probe": "drains", "expected": 4, "found": 3, "p50_ms": 4, "max_ms": 6, "rate": 200}
    assert expected.items() <= own.items()
    assert ["1 results are missing", "late"] == outcome.problems


@pytest.mark.services
def test_lost_and_repeated_results_are_counted_and_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The explanation names the input, the committed batch, and the transactions that contain a result."""
    monkeypatch.setattr(drains, "FLOW_SECONDS", 4)
    for path in (tmp_path / f"copy/{log}/{batch}" for log in ("commits", "offsets") for batch in range(2)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('v1\n{"source": {"0": %s, "1": 1}}' % (1 + int(path.name)))
    with running(LocalKafka()) as broker:
        topic = new_topic(broker.bootstrap_servers, PARTITIONS)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "p"})
        producer.init_transactions()
        for values, end in (("022", producer.commit_transaction), ("1", producer.abort_transaction)):
            producer.begin_transaction()
            for value in values:
                producer.produce(topic, value, key=value)
            producer.flush()  # an abort would discard the record
            end()
        missing, more = drains.differences(broker.bootstrap_servers, "copy", topic, ["0", "1", "2"])
        names, job = {"source": "source", "copy": topic}, kills.Job("", tmp_path, "")
        found = [*kills.explained(broker, job, names, "copy", missing | more)]

    assert (Counter("1"), Counter("2")) == (missing, more)
    ends = [[(copy["transaction"], copy["end"]) for copy in one.pop("copies")] for one in found]
    assert [[("p", "ABORT")], [("p", "COMMIT")] * 2] == ends
    assert [("copy", "1", "1", 0, 0), ("copy", "2", "0", 1, 1)] == [tuple(one.values()) for one in found]
