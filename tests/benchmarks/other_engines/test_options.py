from typing import Any

import pytest

from benchmarks.harness.rate_search import STEP_FIELDS
from benchmarks.other_engines.measure import BENCHMARK, limit_problems

STEP: dict[str, Any] = {
    **dict.fromkeys(STEP_FIELDS),
    "workload": "stateful",
    "engine": "Flink",
    "rate": 4000.0,
    "sustained": False,
}


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--publish", "--quick"], "--quick and --filter measure only a part"),
        (["--publish", "--filter", "Flink"], "--quick and --filter measure only a part"),
        (["--limits", "--long-interval"], "--long-interval and --limits are two measurements"),
    ],
)
def test_part_of_a_comparison_is_not_published(
    flags: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program refuses the options before it measures, and names the remedy."""
    with pytest.raises(SystemExit):
        BENCHMARK.parse(flags)

    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"foreign_cores": 0.15}, []),
        ({"foreign_cores": 0.16}, ["stateful, Flink, 4000/s: other programs used 0.16 cores"]),
        ({"foreign_cores": 0.16, "sustained": True}, []),
    ],
    ids=["quiet", "busy", "busy but sustained"],
)
def test_limit_is_invalid_if_other_programs_may_have_caused_it(change: dict[str, float], expected: list[str]) -> None:
    """A sustained rate counts even if other programs were busy; a failed rate then does not count."""
    assert expected == limit_problems([STEP | change], 0.15)
