"""The benchmark of checkpoint storage: its cases, its summary, and the object store."""

import pytest

from benchmarks.checkpoint_storage.cases import LOCAL
from benchmarks.checkpoint_storage.measure import problem_of, summary
from benchmarks.checkpoint_storage.s3_server import ObjectStore


def test_summary_adds_up_the_runs_of_a_case() -> None:
    run = {"storage": LOCAL, "manager": "A", "results": 10, "differences": 0, "pauses_ms": [100, 400]}
    other = {**run, "manager": "B", "pauses_ms": []}

    rows = list(summary([run, other, {**run, "pauses_ms": [200], "differences": 1}]))

    counted = ("manager", "boundaries", "pause_median_ms", "pause_max_ms", "results", "differences")
    assert [("A", 3, 200, 400, 20, 1), ("B", 0, None, None, 10, 0)] == [
        tuple(row[name] for name in counted) for row in rows
    ]


@pytest.mark.parametrize(
    ("differences", "pauses_ms", "expected"),
    [
        (0, [1], ""),
        (2, [1], "2 results differ from the replay"),
        (0, [], "no batch ended after the warm-up"),
    ],
    ids=["valid", "wrong", "without-boundary"],
)
def test_run_is_valid_with_correct_results_and_boundaries(
    differences: int, pauses_ms: list[int], expected: str
) -> None:
    """A run with a wrong result, or without a boundary after the warm-up, is not published."""
    assert expected == problem_of(differences, pauses_ms)


def test_secret_of_the_store_is_in_neither_its_settings_nor_its_repr() -> None:
    store = ObjectStore("http://127.0.0.1:1", "geheim")

    assert "geheim" not in f"{store} {store.confs()}"
