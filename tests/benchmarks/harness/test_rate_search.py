from typing import Any

import pytest
from rich.console import Console

from benchmarks.harness.plan import find_limits, highest_rate, is_sustained
from benchmarks.harness.run import Case, baseline_case
from benchmarks.results.run_result import RunResult, Traffic
from tests.benchmarks.helpers import run_result
from tests.benchmarks.results.test_validity import GOOD

RUNS: dict[str, tuple[int, int, dict[str, Any], bool]] = {
    "even": (2, 2, {}, True),
    "a pause at the end": (2, 252, {}, True),
    "growing lag": (2, 253, {}, False),
    "a queue from the start that is gone": (9_000, 1_000, {}, True),
    "a queue that shrinks after the last record": (9_000, 1_001, {}, False),
    "lost records": (2, 2, {"missing": 1}, False),
    "a lower rate": (2, 2, {"achieved_share": 0.98}, False),
    "late records": (2, 2, {"lag_p99_ms": 5.1, "p50_ms": 1.0}, False),
}


@pytest.mark.parametrize(("first_ms", "last_ms", "change", "expected"), RUNS.values(), ids=RUNS)
def test_sustained_rate_leaves_no_queue(first_ms: int, last_ms: int, change: dict[str, Any], *, expected: bool) -> None:
    result = run_result("stateful", "real-time", [first_ms] * 30 + [last_ms] * 10, **{**GOOD, **change})

    assert expected == is_sustained(result)


@pytest.mark.parametrize(
    ("limit", "tried", "highest"),
    [
        (200, [100, 200], 200),
        (160, [100, 200, 150], 150),
        (110, [100, 200, 150], 100),
        (60, [100, 50], 50),
        (9, [100, 50], 0),
    ],
)
def test_rate_is_raised_until_the_engine_falls_behind(limit: float, tried: list[float], highest: float) -> None:
    rates = list[float]()

    def keeps_up(rate: float) -> bool:
        rates.append(rate)
        return rate <= limit

    assert highest == highest_rate([100, 200], keeps_up)
    assert tried == rates


@pytest.mark.parametrize(
    ("change", "tried"),
    [({"wrong": 1, "lag_p99_ms": 900.0}, [200, 100]), ({"lag_p99_ms": 900.0}, [200, 200, 100, 100])],
    ids=["wrong", "late"],
)
def test_only_a_late_try_is_repeated(change: dict[str, Any], tried: list[float]) -> None:
    """The search reports no rate for an engine with wrong results, even if its records were sent late."""
    rates = list[float]()

    def run_one(case: Case, traffic: Traffic) -> RunResult:
        rates.append(traffic.rate)
        return run_result(case.workload, case.engine, [2] * 40, **{**GOOD, **change, "rate": traffic.rate})

    found = find_limits(run_one, [baseline_case()], [200], Traffic(200, 1, 1), Console(quiet=True))

    assert tried == rates
    assert [0] == [limit["sustained_rate"] for limit in found["limits"]]
    assert [(200, False), (100, False)] == [(step["rate"], step["sustained"]) for step in found["steps"]]
