"""What the peers answer is what the replay says; Flink and Quix Streams prove it in every `make bench-peers`."""

import pytest
from confluent_kafka.admin import AdminClient

from examples.benchmarks.load import Traffic
from examples.benchmarks.peers.kafka_streams import KAFKA_STREAMS
from examples.benchmarks.trial import Cell, run_trial
from examples.benchmarks.work import Work

pytestmark = pytest.mark.services

SHORT = Traffic(rate=1000, warm_up_seconds=1, measured_seconds=4, drain_seconds=60)


@pytest.mark.parametrize("work", ["stateless", "stateful"])
def test_kafka_streams_answers_every_record_once_as_the_replay_does(kafka: str, work: Work) -> None:
    """One right output for each record, over all kinds and invalid records; its own topics go away with it."""
    before = set(AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).topics)

    trial = run_trial(kafka, Cell(KAFKA_STREAMS.name, work, KAFKA_STREAMS.start), SHORT)

    numbers = trial.numbers
    assert (0, 0, 1.0) == (numbers["missing"], numbers["wrong"], numbers["outputs_per_record"])
    left = set(AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).topics) - before
    assert set() == {topic for topic in left if not topic.startswith("__")}
