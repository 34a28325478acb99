"""Kafka Streams gives the answers of the replay; `make bench-other-engines` verifies Flink and Quix Streams too."""

import pytest
from confluent_kafka.admin import AdminClient

from examples.benchmarks.harness.run import run_case
from examples.benchmarks.harness.workloads import Workload
from examples.benchmarks.other_engines.kafka_streams import KAFKA_STREAMS
from examples.benchmarks.results.record_times import Traffic

pytestmark = pytest.mark.services

SHORT = Traffic(rate=1000, warm_up_seconds=1, duration_seconds=4, drain_seconds=60)


@pytest.mark.parametrize("workload", ["stateless", "stateful"])
def test_kafka_streams_answers_every_record_correctly_once(kafka: str, workload: Workload) -> None:
    """Each record gets one correct output, valid or not, and the internal topics are deleted afterwards."""
    before = set(AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).topics)

    result = run_case(kafka, KAFKA_STREAMS.case(workload, 1), SHORT)

    numbers = result.numbers
    assert (0, 0, 1.0) == (numbers["missing"], numbers["wrong"], numbers["outputs_per_record"])
    left = set(AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).topics) - before
    assert set() == {topic for topic in left if not topic.startswith("__")}
