from dataclasses import replace
from typing import Any

import pytest

from benchmarks.results.run_result import problems
from benchmarks.results.summary import BASELINE
from tests.benchmarks.helpers import run_result

GOOD = {
    "missing": 0,
    "wrong": 0,
    "achieved_share": 1.0,
    "p50_ms": 100.0,
    "lag_p99_ms": 10.0,
    "records": 1000,
    "boundaries": 3,
    "foreign_cores": 0.15,
}
LATE = "records were sent late: p99 5.1 ms, allowed 5.0 ms"
BUSY = "other programs used 0.16 cores"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, ""),
        ({"missing": 1}, "1 records have no output"),
        ({"wrong": 2}, "2 outputs differ from the replay, for example this one"),
        ({"achieved_share": 0.99}, ""),
        ({"achieved_share": 0.9899}, "reached 99.0% of the requested rate"),
        ({"lag_p99_ms": 10.1}, "sent late: p99 10.1 ms, allowed 10.0 ms"),
        ({"lag_p99_ms": 5.0, "p50_ms": 1.0}, ""),
        ({"lag_p99_ms": 5.1, "p50_ms": 1.0}, "sent late: p99 5.1 ms, allowed 5.0 ms"),
        ({"boundaries": 2}, "only 2 batch boundaries"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_run_is_valid_up_to_and_including_each_limit(change: dict[str, Any], problem: str) -> None:
    texts = problems({**GOOD, **change}, ["this one"])

    assert bool(problem) == len(texts)
    assert problem in "".join(texts)
    # A case can need fewer than three boundaries, and an engine without batches needs none.
    assert [text for text in texts if "boundaries" not in text] == problems({**GOOD, **change}, ["this one"], 2)


@pytest.mark.parametrize(
    ("found", "expected"),
    [([], False), ([LATE], True), ([LATE, BUSY], True), (["1 records have no output", LATE], False)],
    ids=["valid", "late", "late and busy", "missing and late"],
)
def test_only_a_run_without_other_problems_counts_as_disturbed(found: list[str], *, expected: bool) -> None:
    """A run with a lost record is never repeated, because a repetition could hide the loss."""
    result = replace(run_result("echo", BASELINE, [1, 2]), problems=found)
    result.numbers.update(lag_p99_ms=5.1, foreign_cores=0.16)

    assert expected == result.is_only_disturbed()
