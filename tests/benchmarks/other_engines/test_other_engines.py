"""Kafka Streams gives the answers of the replay; `make bench-other-engines` verifies Flink and Quix Streams too."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from benchmarks.harness.baseline import echo
from benchmarks.harness.benchmark import run
from benchmarks.harness.run import run_case
from benchmarks.other_engines.engine import OtherEngine
from benchmarks.other_engines.kafka_streams import KAFKA_STREAMS
from benchmarks.other_engines.measure import BENCHMARK, measure
from benchmarks.results.record_times import Traffic

pytestmark = pytest.mark.services

SHORT = Traffic(rate=1000, warm_up_seconds=1, duration_seconds=4, drain_seconds=60)


def test_kafka_streams_answers_every_record_correctly_once(kafka: str) -> None:
    before = set(AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).topics)

    result = run_case(kafka, KAFKA_STREAMS.case("stateful", 1), SHORT)

    numbers = result.numbers
    assert (0, 0, 1.0) == (numbers["missing"], numbers["wrong"], numbers["outputs_per_record"])
    left = set(AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).topics) - before
    assert set() == {topic for topic in left if not topic.startswith("__")}


def test_search_gives_no_rate_to_an_engine_with_wrong_results(
    kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The JSON contains the limit of each engine, and every tried rate with the reason."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    copying = OtherEngine("Echo", (), lambda _: {}, lambda: None, lambda _, run: echo(run))
    options = ["--limits", "--filter", "stateless, Echo", "--rate=200", "--warm-up-seconds=1", "--duration=2"]

    assert 0 == run(replace(BENCHMARK, measure=partial(measure, engines=[copying])), options)

    content = json.loads(Path("build/benchmarks/other_engines_limits.json").read_text())
    assert [{"workload": "stateless", "engine": "Echo", "sustained_rate": 0}] == content["limits"]
    assert [(200, False), (100, False)] == [(step["rate"], step["sustained"]) for step in content["steps"]]
    assert all(step["wrong"] for step in content["steps"])
    assert ["Echo"] == [engine["engine"] for engine in content["other_engines"]]
