"""The order of the files, the marker `spark`, and the number of things that a run proved."""

import pytest

from scripts.pack import files

CONFTEST = """
import pytest

pytest_plugins = ["tests.suite"]

@pytest.fixture(scope="session")
def rtm_spark():
    pass

@pytest.fixture
def probe(rtm_spark):
    pass
"""
MARKERS = "[pytest]\nmarkers =\n    proves\n    services\n    spark\n    timeout\n"
MODULES = {
    "test_a_plain": "def test_one(): pass\ndef test_two(): pass",
    "test_b_query": "def test_one(probe): pass\ndef test_two(): pass",
    "test_c_program": "import pytest\n@pytest.mark.services\n@pytest.mark.timeout(9)\ndef test_one(): pass",
    "test_d_slow_query": "import pytest\n@pytest.mark.timeout(9)\ndef test_one(rtm_spark): pass",
}
PROOFS = """
import pytest

@pytest.mark.proves("operators tried")
@pytest.mark.parametrize("n", [1, 2])
def test_operator(n):
    pass

@pytest.mark.proves("chaos rounds", 5)
def test_chaos():
    pass

@pytest.mark.proves("operators tried")
def test_failure():
    assert False
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(files.ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # loading all plugins takes longer than this run
    pytester.makeini(MARKERS)
    pytester.makeconftest(CONFTEST)
    return pytester


def order_of_tests(project: pytest.Pytester, *options: str) -> list[str]:
    result = project.runpytest_subprocess("-v", *options)
    return [line.partition(" PASSED")[0].replace(".py", "") for line in result.outlines if " PASSED" in line]


def test_files_with_and_without_session_alternate(project: pytest.Pytester) -> None:
    project.makepyfile(**MODULES)

    first, second = {"test_d_slow_query::test_one"}, {"test_c_program::test_one"}
    then = {"test_b_query::test_one", "test_b_query::test_two", "test_a_plain::test_one", "test_a_plain::test_two"}
    order = order_of_tests(project)

    assert [first | second, then] == [set(order[:2]), set(order[2:])]
    assert [name for name in order if name.startswith("test_b")] == ["test_b_query::test_one", "test_b_query::test_two"]


def test_ring_of_plain_python_leaves_out_session_and_servers(project: pytest.Pytester) -> None:
    """A test that uses the session gets its marker before pytest selects, also if a fixture of its own uses it."""
    project.makepyfile(**MODULES)

    ran = order_of_tests(project, "-m", "not spark and not services")

    assert ["test_a_plain::test_one", "test_a_plain::test_two", "test_b_query::test_two"] == sorted(ran)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_summary_counts_what_passed_tests_proved(workers: str, project: pytest.Pytester) -> None:
    project.makepyfile(test_module=PROOFS)

    result = project.runpytest_subprocess("-p", "xdist", "-n", workers)

    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["proved: 5 chaos rounds, 2 operators tried"])
