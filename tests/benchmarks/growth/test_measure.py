from dataclasses import replace
from typing import Any

import pytest

from benchmarks.growth.measure import Options, outcome, point_row, problems_of
from benchmarks.growth.points import Point
from benchmarks.results.run_result import RunResult
from tests.benchmarks.growth.synthetic import rows
from tests.benchmarks.helpers import run_result
from tests.benchmarks.results.test_validity import GOOD

pytestmark = pytest.mark.spark

MEGABYTE = 2**20
PROGRESS = tuple(
    {
        "name": f"copy_{number}",
        "stateOperators": [
            {"numRowsTotal": 900, "memoryUsedBytes": 3 * MEGABYTE, "customMetrics": {"rocksdbSstFileSize": MEGABYTE}}
        ],
    }
    for number in range(2)
)
COSTS: dict[str, Any] = {
    **GOOD,
    "engine_cores": 0.5,
    "cpu_seconds_per_million": 500.0,
    "engine_mb": 800,
    "pauses_ms": [40.0, 90.0, 50.0],
}
PLANNED = Point(state_keys=10_000, queries=2, dimension="state_keys")


def result(**others: Any) -> RunResult:
    return replace(run_result("counts", "point", [5] * 100, **{**COSTS, **others}), progress=PROGRESS)


def test_row_contains_the_costs_of_all_queries_and_the_rows_of_the_first() -> None:
    row = point_row(PLANNED, result())

    assert (900, 10_000) == (row["state_rows"], row["state_keys"])
    assert (6.0, 2.0) == (row["state_mb"], row["state_disk_mb"])
    costs = ("busy_cores", "memory_mb", "pause_ms", "pause_max_ms")
    assert [0.5, 800, 50.0, 90.0] == [row[name] for name in costs]
    assert (True, "", []) == (row["kept_up"], row["problems"], problems_of([row]))


def test_late_records_are_a_result_and_lost_records_a_problem() -> None:
    """Late records mean that the engine left no CPU time to the load program. A missing result invalidates the run."""
    late = result(lag_p99_ms=400.0)
    late = replace(late, problems=["records were sent late", "the run has only 2 batch boundaries"])
    lost = replace(result(missing=3), problems=["3 records have no output"])

    found = [point_row(PLANNED, late), point_row(PLANNED, lost)]

    assert [False, False] == [row["kept_up"] for row in found]
    assert ["state_keys: state_keys = 10,000; queries = 2: 3 records have no output"] == problems_of(found)


@pytest.mark.parametrize(
    ("part", "problem", "expected"),
    [((), "", []), ((), "wrong", "wrong"), (("rate",), "", "the cost model requires the whole plan")],
    ids=["complete", "invalid", "part"],
)
def test_only_complete_and_valid_runs_are_published(part: tuple[str, ...], problem: str, expected: str) -> None:
    found = outcome(Options(publish=True, filter=part), [row | {"problems": problem} for row in rows()])

    assert bool(expected) == bool(found.problems)
    assert all(expected in text for text in found.problems)
    assert bool(part) == ("model" not in found.content)
