"""The report at the end of a run: durations by ring and file, and what was proved."""

import json
from pathlib import Path

import pytest

from scripts.pack import files
from tests.durations import DurationsPlugin

MODULE = """
import pytest

@pytest.mark.proves("operators tried")
@pytest.mark.parametrize("n", [1, 2])
def test_operator(n):
    pass

@pytest.mark.proves("chaos rounds", 5)
@pytest.mark.services
def test_chaos():
    pass

@pytest.mark.proves("operators tried")
def test_failure():
    assert False
"""
MARKERS = "[pytest]\nmarkers =\n    proves\n    spark\n    services\n"


@pytest.mark.parametrize("workers", ["0", "2"])
def test_report_counts_rings_and_what_passed_tests_proved(
    workers: str, pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counts are the same with worker processes, and a failed test proves nothing."""
    monkeypatch.setenv("PYTHONPATH", str(files.ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # loading all plugins takes longer than this run
    pytester.makepyfile(**{"services/test_module": MODULE})
    pytester.makeini(MARKERS)
    pytester.makeconftest(
        "from tests.durations import DurationsPlugin\n"
        "from pathlib import Path\n"
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    [item.add_marker(pytest.mark.spark) for item in items if item.name == 'test_failure']\n"
        "def pytest_configure(config):\n"
        f"    config.pluginmanager.register(DurationsPlugin(Path({str(tmp_path)!r})))\n"
    )

    result = pytester.runpytest_subprocess("-p", "xdist", "-n", workers)

    report = json.loads((tmp_path / "test-durations.json").read_text())
    assert {"unit": 2, "spark": 1, "services": 1} == {ring: sums["tests"] for ring, sums in report["rings"].items()}
    assert {"chaos rounds": 5, "operators tried": 2} == report["proved"]
    assert {"services/test_module.py"} == report["files"].keys()
    result.stdout.fnmatch_lines(["proved: 5 chaos rounds, 2 operators tried"])


def test_report_lists_the_slowest_test_first(tmp_path: Path) -> None:
    """The list is sorted by set-up, call and tear-down together, and ends after fifty tests."""
    plugin = DurationsPlugin(tmp_path)
    for number in range(60):
        for phase in ("setup", "call"):
            report = pytest.TestReport(
                f"test_a.py::test_{number}", ("test_a.py", 1, ""), {}, "passed", None, phase, duration=number
            )
            plugin.pytest_runtest_logreport(report)

    slowest = json.loads(plugin.write().read_text())["slowest"]

    assert [f"test_a.py::test_{number}" for number in range(59, 9, -1)] == [test["test"] for test in slowest]
    assert 118 == slowest[0]["seconds"]
