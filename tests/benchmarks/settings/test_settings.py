from collections import Counter

from benchmarks.results.run_result import RunResult
from benchmarks.settings.changes import changes_of
from benchmarks.settings.compare import COMBINED, UNTOUCHED, WARM_UNTOUCHED
from benchmarks.settings.measure import GROUP, Changes, alone, combined, content_of
from benchmarks.spark.variants import recommended
from tests.benchmarks.helpers import run_result

BASE = recommended(5, quick=True)
CHANGES = changes_of(BASE)
SAVED = {
    ("stateful", "kafka.linger.ms = 5"): 0.8,
    ("stateful", "spark.sql.shuffle.partitions = 1"): 0.85,
    ("stateful", "kafka.check.crcs = false"): 0.5,
    ("stateful", "slots = 16"): 0.95,
    ("two hops", "Avro between the hops"): 0.5,
}
"""CPU time relative to the untouched query, whose equal runs differ by a tenth."""


def results() -> list[RunResult]:
    steps = alone(BASE, CHANGES)
    costs = [100.0 * SAVED.get((step.case.workload, step.case.engine), 1) for step in steps]
    cases = [(step.case.workload, step.case.engine) for step in steps]
    costs[len(cases) - 1 - cases[::-1].index(("stateful", UNTOUCHED))] = 110
    runs = [run_result(step.case.workload, step.case.engine, [3] * 10) for step in steps]
    for result, step, cost in zip(runs, steps, costs, strict=True):
        result.numbers.update(cpu_seconds_per_million=cost, foreign_cores=0.02, group=step.group)
    return runs


def test_each_change_runs_once_near_an_untouched_query() -> None:
    """Each group has one untouched query, followed by at most `GROUP` changes of the same workload."""
    steps = alone(BASE, CHANGES)

    groups = {step.group: [one for one in steps if one.group == step.group] for step in steps}
    for members in groups.values():
        assert [UNTOUCHED] == [one.case.engine for one in members if one.case.engine == UNTOUCHED]
        assert UNTOUCHED == members[0].case.engine
        assert len(members) <= GROUP + 1
        assert 1 == len({one.case.workload for one in members})
    names = [(step.case.workload, step.case.engine) for step in steps if step.case.engine != UNTOUCHED]
    assert [(workload, name) for workload, named in CHANGES.items() for name in named] == names
    assert {4, None} == {step.case.partitions for step in steps}


def test_each_workload_has_two_untouched_queries_for_its_noise() -> None:
    """A workload with few changes also has equal runs, even if a filter selects only one change."""
    one: Changes = {"two hops": {"Avro between the hops": CHANGES["two hops"]["Avro between the hops"]}}

    counts = Counter(step.case.workload for step in alone(BASE, CHANGES) if step.case.engine == UNTOUCHED)
    assert {"stateful": 7, "stateless": 3, "two hops": 2} == counts
    assert [UNTOUCHED, "Avro between the hops", UNTOUCHED] == [step.case.engine for step in alone(BASE, one)]


def test_changes_that_helped_run_together_after_a_long_warm_up() -> None:
    """The best change comes last; checks stay on, and a query has only one of the changes between two hops."""
    content = content_of(results())

    steps = combined(BASE, CHANGES, content, first_group=90)

    assert [(WARM_UNTOUCHED, 90, True), (COMBINED, 90, True)] == [
        (step.case.engine, step.group, step.is_warm) for step in steps
    ]
    settings = steps[1].case.settings
    assert ["spark.sql.shuffle.partitions = 1", "kafka.linger.ms = 5"] == settings["changes"]
    assert (1, "5") == (settings["shuffle_partitions"], settings["sink"]["kafka.linger.ms"])
