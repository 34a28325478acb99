from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from benchmarks.harness.plan import PlannedRun, rotate, run_all
from benchmarks.harness.run import Case, baseline_case
from benchmarks.results.run_result import RunResult, Traffic
from benchmarks.results.summary import summarize
from tests.benchmarks.helpers import run_result
from tests.benchmarks.results.test_validity import GOOD

TRAFFIC = Traffic(1000, 1, 1)


def test_each_repeat_begins_with_another_case() -> None:
    """If the machine becomes slower or faster during the measurement, no engine has an advantage."""
    cases = [replace(baseline_case(), engine=name) for name in "abcd"]

    runs = rotate(cases, [TRAFFIC], 3)

    assert ["abcd", "bcda", "cdab"] == [
        "".join(run.case.engine for run in runs if run.repeat == repeat) for repeat in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("lags_ms", "foreign_cores", "problems"),
    [
        ([5.0], 0.0, []),
        ([5.1, 5.0], 0.0, []),
        ([5.1, 5.1], 0.0, ["records were sent late: p99 5.1 ms, allowed 5.0 ms"]),
        ([5.0, 5.0], 0.3, ["other programs used 0.30 cores"]),
    ],
    ids=["undisturbed", "late once", "late again", "busy again"],
)
def test_disturbed_run_is_repeated_and_invalid_if_disturbed_again(
    lags_ms: list[float], foreign_cores: float, problems: list[str]
) -> None:
    lags = iter(lags_ms)

    def run_one(case: Case, _: Traffic) -> RunResult:
        lag: dict[str, Any] = {"lag_p99_ms": next(lags), "foreign_cores": foreign_cores}
        result = run_result(case.workload, case.engine, [1] * 9, **{**GOOD, "p50_ms": 1.0, **lag})
        late = ["records were sent late: p99 5.1 ms, allowed 5.0 ms"] if lag["lag_p99_ms"] > 5 else []
        return replace(result, problems=late)

    (result,) = run_all([PlannedRun(baseline_case(), TRAFFIC)], run_one, 1, Console(quiet=True), max_foreign_cores=0.2)

    assert problems == result.problems
    assert lags_ms[:-1] == [numbers["lag_p99_ms"] for numbers in result.late_runs]
    assert len(summarize([result])["late_runs"]) == len(lags_ms) - 1
