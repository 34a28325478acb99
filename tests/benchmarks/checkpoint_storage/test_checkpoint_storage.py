"""The benchmark of checkpoint storage: its cases, its summary, and the object store."""

from pathlib import Path

import pytest

from benchmarks.checkpoint_storage.cases import LOCAL, OBJECTS, SHARED, cases, file_system_of
from benchmarks.checkpoint_storage.measure import problem_of, summary
from benchmarks.checkpoint_storage.s3_server import ObjectStore

STORE = ObjectStore("http://127.0.0.1:1", "secret")


def test_cases_cover_each_storage(tmp_path: Path) -> None:
    found = list(cases(tmp_path / "local", tmp_path / "shared", STORE))

    system = file_system_of(tmp_path)
    assert [LOCAL, LOCAL, f"{SHARED} ({system})", OBJECTS, OBJECTS] == [case.storage for case in found]
    assert ["file", "file", "file", "s3a", "s3a"] == [case.root.partition(":")[0] for case in found]
    assert 5 == len({(case.storage, case.manager_name) for case in found})


def test_each_run_has_its_own_checkpoints(tmp_path: Path) -> None:
    case = next(cases(tmp_path, tmp_path, STORE))

    assert case.new_checkpoint_dir() != case.new_checkpoint_dir()
    assert case.new_checkpoint_dir().startswith(f"{tmp_path.as_uri()}/run-")


def test_file_system_is_that_of_the_nearest_mount() -> None:
    assert "proc" == file_system_of(Path("/proc"))
    assert "proc" == file_system_of(Path("/proc/self"))


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
