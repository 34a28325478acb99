"""The order of groups of tests, and which worker process takes which."""

from pathlib import Path

import pytest

from scripts.pack import files

CONFTEST = """
import pytest

pytest_plugins = ["tests.run_order"]

@pytest.fixture(scope="session")
def rtm_spark():
    pass

@pytest.fixture
def probe(rtm_spark):
    pass

@pytest.fixture(autouse=True)
def process(request, worker_id):
    with open(request.config.rootpath / "log", "a") as log:
        group = "session of " * ("rtm_spark" in request.fixturenames) + request.path.stem
        log.write(f"{worker_id}: {group}\\n")
"""
MARKERS = "[pytest]\nmarkers =\n    services\n    timeout\n"
MODULES = {
    "test_plain": "def test_one(): pass\ndef test_two(): pass",
    "test_program": "import pytest\n@pytest.mark.services\ndef test_one(): pass",
    "test_quick_query": "def test_one(probe): pass\ndef test_two(): pass",
    "test_slow_program": "import pytest\n@pytest.mark.services\n@pytest.mark.timeout(9)\ndef test_one(): pass",
    "test_slow_query": "import pytest\n@pytest.mark.timeout(9)\ndef test_one(rtm_spark): pass",
}


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Return a project with files of each kind."""
    monkeypatch.setenv("PYTHONPATH", str(files.ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # loading all plugins takes longer than this run
    pytester.makepyfile(**MODULES)
    pytester.makeini(MARKERS)
    pytester.makeconftest(CONFTEST)
    return pytester


def groups_by_worker(project: pytest.Pytester, *options: str) -> dict[str, list[str]]:
    """Run the tests and return the groups of each worker, in the order in which it began them."""
    result = project.runpytest_subprocess("-p", "xdist", "--no-loadscope-reorder", *options)
    result.assert_outcomes(passed=7)
    lines = dict.fromkeys(Path(project.path, "log").read_text().splitlines())
    ran: dict[str, list[str]] = {}
    for line in lines:
        worker, group = line.split(": ")
        ran.setdefault(worker, []).append(group)
    return ran


def test_sessions_come_first_and_long_programs_last(project: pytest.Pytester) -> None:
    """Without worker processes the list is run from the front."""
    order = groups_by_worker(project)["master"]

    sessions = ["session of test_slow_query", "session of test_quick_query"]
    assert [*sessions, "test_program", "test_quick_query", "test_plain", "test_slow_program"] == order


def test_workers_take_groups_from_both_ends(project: pytest.Pytester) -> None:
    """The first worker begins with the session, the second one without it; only a file with two groups is divided."""
    ran = groups_by_worker(project, "-n", "2", "--dist", "loadfile")

    first, second = ran["gw0"], ran["gw1"]
    assert ["session of test_slow_query", "session of test_quick_query"] == first[:2]
    assert "test_slow_program" == second[0]
    assert sorted(["test_program", "test_plain", "test_quick_query"]) == sorted([*first[2:], *second[1:]])


def test_another_distribution_remains_that_of_xdist(project: pytest.Pytester) -> None:
    """`--dist load` divides files: seven workers run the seven tests of five files."""
    ran = groups_by_worker(project, "-n", "7", "--dist", "load")

    assert 7 == len(ran)
