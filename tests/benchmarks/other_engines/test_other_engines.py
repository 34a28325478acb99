"""Kafka Streams writes the same results as the replay; `make bench-other-engines` also verifies Flink."""

import pytest
from confluent_kafka.admin import AdminClient

from benchmarks.harness.benchmark import parse
from benchmarks.harness.run import run_case
from benchmarks.other_engines import measure
from benchmarks.other_engines.kafka_streams import KAFKA_STREAMS
from benchmarks.results.run_result import Traffic

SHORT = Traffic(rate=1000, warm_up_seconds=1, duration_seconds=2, drain_seconds=60)


@pytest.mark.services
def test_kafka_streams_answers_every_record_correctly_once(kafka: str) -> None:
    before = set(AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).topics)

    result = run_case(kafka, KAFKA_STREAMS.case("stateful", 1), SHORT)

    numbers = result.numbers
    assert (0, 0, 1.0) == (numbers["missing"], numbers["wrong"], numbers["outputs_per_record"])
    left = set(AdminClient({"bootstrap.servers": kafka}).list_topics(timeout=10).topics) - before
    assert set() == {topic for topic in left if not topic.startswith("__")}


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--publish", "--quick"], "--quick and --filter measure only a part"),
        (["--publish", "--filter", "Flink"], "--quick and --filter measure only a part"),
        (["--limits", "--long-interval"], "--long-interval and --limits are separate measurements"),
    ],
)
def test_part_of_a_comparison_is_refused(flags: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse("other-engines", measure, flags)

    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(("cores", "sustained", "count"), [(0.15, False, 0), (0.16, False, 1), (0.16, True, 0)])
def test_limit_is_invalid_if_other_programs_may_have_caused_it(cores: float, sustained: bool, count: int) -> None:
    """If other programs were busy, a rate that the engine sustained counts, but a rate that it missed does not."""
    step = {"workload": "stateful", "engine": "Flink", "rate": 4000, "sustained": sustained, "foreign_cores": cores}

    assert ["stateful, Flink, 4000/s: other programs used 0.16 cores"] * count == measure.limit_problems([step], 0.15)
