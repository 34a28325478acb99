from dataclasses import replace

import pytest

from benchmarks.harness.baseline import baseline_case
from benchmarks.harness.run import Case, run_case
from benchmarks.results.record_times import Traffic
from tests.benchmarks.harness.checks import MEASURED_RECORDS, SHORT, VALID, assert_all_answered, copying, half_echo

pytestmark = pytest.mark.services


def test_echo_answers_every_record_exactly_once(kafka: str) -> None:
    result = run_case(kafka, baseline_case(), SHORT)

    assert_all_answered(result)
    assert (MEASURED_RECORDS, 1.0) == (result.numbers["records"], result.numbers["outputs_per_record"])
    assert result.numbers["engine_cores"] > 0


def test_late_load_generator_makes_the_run_invalid(kafka: str) -> None:
    """A rate that the load generator cannot reach is a problem of the run, not a latency of the engine."""
    traffic = Traffic(rate=10_000_000, warm_up_seconds=0, duration_seconds=0.01)

    result = run_case(kafka, baseline_case(), traffic)

    assert_all_answered(result)
    assert "of the requested rate; use a lower --rate" in result.problems[0]
    assert "records were sent late" in result.problems[1]


def test_missing_result_makes_the_run_invalid(kafka: str) -> None:
    result = run_case(kafka, Case("half echo", "echo", half_echo), replace(SHORT, drain_seconds=2))

    assert 0 < result.numbers["missing"] < 3000
    assert f"{result.numbers['missing']} records have no output" in result.problems


def test_wrong_result_makes_the_run_invalid(kafka: str) -> None:
    """A copied record belongs in the reject topic if it is invalid."""
    result = run_case(kafka, Case("copy", "stateless", copying), replace(SHORT, drain_seconds=2))

    wrong = 3000 - len(VALID)
    assert wrong == result.numbers["wrong"]
    assert any(f"{wrong} outputs differ from the replay, for example bench-" in problem for problem in result.problems)
