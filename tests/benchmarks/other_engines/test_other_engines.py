"""Kafka Streams gives the answers of the replay; `make bench-other-engines` verifies Flink and Quix Streams too."""

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from examples.benchmarks.harness.run import run_case
from examples.benchmarks.harness.workloads import Workload
from examples.benchmarks.other_engines.__main__ import main
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


def test_search_writes_the_highest_rate_and_each_tried_rate(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JSON contains the limit of the selected engine, and the step with which it was found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    options = ["--limits", "--filter", "stateful, Kafka", "--rate=200", "--warm-up-seconds=1", "--duration=3"]

    assert 0 == main(options, [KAFKA_STREAMS])

    content = json.loads(Path("build/benchmarks/other_engines_limits.json").read_text())
    (limit,), (first, *others) = content["limits"], content["steps"]
    assert ("stateful", "Kafka Streams") == (limit["workload"], limit["engine"])
    # A busy machine may send records late, so that no rate counts as sustained.
    assert max([step["rate"] for step in (first, *others) if step["sustained"]], default=0) == limit["sustained_rate"]
    assert (200, 0, 0) == (first["rate"], first["missing"], first["wrong"])
