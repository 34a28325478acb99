"""The plan of the price benchmark compares each change with an untouched query nearby."""

import pytest

from benchmarks.settings.price import COMBINED, GROUP, alone, combined, main
from benchmarks.settings.price_variants import CHANGES
from benchmarks.settings.prices import UNTOUCHED, WARM_UNTOUCHED
from benchmarks.spark.variants import recommended

BASE = recommended(5, quick=True)


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


def test_changes_that_helped_run_together_after_a_long_warm_up() -> None:
    """The best change is applied last, and hops are not combined, because a query has one format between them."""
    helped = {"linger.ms = 5": 0.8, "shuffle.partitions = 1": 0.9, "check.crcs = false": 1.0}
    cases = [
        {"workload": "stateful", "engine": name, "cpu_ratio": ratio, "p50_ms": 3.0} for name, ratio in helped.items()
    ]
    cases += [{"workload": "two hops", "engine": name, "cpu_ratio": 0.5, "p50_ms": 3.0} for name in CHANGES["two hops"]]

    steps = combined(BASE, CHANGES, cases, first_group=30)

    assert [(WARM_UNTOUCHED, 30, True), (COMBINED, 30, True)] == [
        (step.case.engine, step.group, step.is_warm) for step in steps
    ]
    settings = steps[1].case.settings
    assert ["shuffle.partitions = 1", "linger.ms = 5"] == settings["changes"]
    assert (1, "5") == (settings["shuffle_partitions"], settings["sink"]["kafka.linger.ms"])


def test_filter_without_a_change_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing starts if the filter selects nothing."""
    assert 1 == main(["--filter", "no such change"])
    assert "--filter no such change selects no change" in capsys.readouterr().err.replace("'", "")
