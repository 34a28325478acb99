"""Kafka Streams gives the answers of the replay; `make bench-other-engines` checks Flink and Quix Streams too."""

import pytest
from confluent_kafka.admin import AdminClient

from examples.benchmarks.harness.load_generator import Traffic
from examples.benchmarks.harness.run import Cell, run_trial
from examples.benchmarks.harness.workloads import Work
from examples.benchmarks.other_engines.kafka_streams import KAFKA_STREAMS

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
