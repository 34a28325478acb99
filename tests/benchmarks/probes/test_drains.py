import uuid

import pytest

from benchmarks.probes import drains
from benchmarks.probes.probe import PARTITIONS
from spark_rtm.kafka.topics import ensure_topics
from tests.helpers import produce

pytestmark = [pytest.mark.services]


def test_missing_and_repeated_results_are_counted(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = f"test-drains-{uuid.uuid4().hex[:8]}"
    ensure_topics(kafka, [topic], PARTITIONS)
    monkeypatch.setattr(drains, "FLOW_SECONDS", 4)
    produce(kafka, topic, [(0, b"0"), (1, b"1"), (0, b"2"), (1, b"2"), (0, b"2")])

    assert drains.differences(kafka, topic, ["0", "1", "2", "3"]) == (1, 2)
