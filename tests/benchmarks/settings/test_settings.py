from collections import Counter

from benchmarks.settings.changes import changes_of
from benchmarks.settings.compare import UNTOUCHED
from benchmarks.settings.measure import GROUP, content_of, steps_of
from benchmarks.spark.variants import recommended
from tests.benchmarks.helpers import run_result

BASE = recommended(5, quick=True)
CHANGES = changes_of(BASE)


def test_each_change_runs_once_near_an_untouched_query() -> None:
    """Each group has one untouched query, followed by at most `GROUP` changes of the same workload."""
    steps = steps_of(BASE, CHANGES)

    for number in {group for _, group in steps}:
        first, *others = [case for case, group in steps if group == number]
        assert UNTOUCHED == first.engine
        assert len(others) <= GROUP
        assert all(UNTOUCHED != case.engine and first.workload == case.workload for case in others)
    names = [(case.workload, case.engine) for case, _ in steps if case.engine != UNTOUCHED]
    assert [(workload, name) for workload, named in CHANGES.items() for name in named] == names
    assert {4, 2} == {case.partitions for case, _ in steps}


def test_each_workload_has_two_untouched_queries_for_its_noise() -> None:
    """A workload with few changes also has equal runs, even if a filter selects only one change."""
    counts = Counter(case.workload for case, _ in steps_of(BASE, CHANGES) if case.engine == UNTOUCHED)
    assert {"stateful": 7, "stateless": 3} == counts
    one = steps_of(BASE, {"stateless": {"with_latency": CHANGES["stateless"]["with_latency"]}})
    assert [UNTOUCHED, "with_latency", UNTOUCHED] == [case.engine for case, _ in one]


def test_case_has_its_ratios_to_the_untouched_query() -> None:
    runs = [run_result("stateful", name, [latency_ms] * 10) for name, latency_ms in ((UNTOUCHED, 2), ("slots = 16", 3))]
    for run, cost in zip(runs, (100, 80), strict=True):
        run.numbers.update(cpu_seconds_per_million=cost, group=0)

    untouched, changed = content_of(runs)["cases"]

    assert (1.0, 1.0) == (untouched["cpu_ratio"], untouched["p50_ratio"])
    assert (0.8, 1.5) == (changed["cpu_ratio"], changed["p50_ratio"])
