from collections import Counter
from pathlib import Path

import pytest

from benchmarks.harness.benchmark import run
from benchmarks.harness.cli import conditions
from benchmarks.results.publish import write_json
from benchmarks.results.run_result import RunResult
from benchmarks.settings.changes import changes_of
from benchmarks.settings.compare import COMBINED, UNTOUCHED, WARM_UNTOUCHED
from benchmarks.settings.measure import BENCHMARK, GROUP, Changes, Options, alone, combined, content_of
from benchmarks.settings.table import changes
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
    """Return the results of runs that never took place."""
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


def test_results_become_a_table_with_latency_and_busy_cores(tmp_path: Path) -> None:
    content = content_of(results())
    content |= {"conditions": conditions(Options()), "combined": {"stateful": ["kafka.linger.ms = 5", "slots = 16"]}}
    write_json(content, tmp_path / "references/measured/settings.json")

    text = changes(tmp_path, "settings stateful")

    assert text.startswith("Measured with `make bench-settings PUBLISH=1` on ")
    header = "CPU s per million records | relative | busy cores | p50 | p99 | p99.9 | p50 relative | p99 relative |"
    assert f"| stateful: change | {header}" in text
    assert "| kafka.linger.ms = 5 | 80 | 0.80x | 0.00 | 3.0 | 3.0 | 3.0 | 1.00x | 1.00x |" in text
    assert "needed 100 to 110 CPU s, so differences up to 10% are noise. Changes within the noise: " in text
    assert "The combined query has these changes: `kafka.linger.ms = 5`; `slots = 16`." in text


def test_filter_without_a_change_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing starts if the filter selects nothing."""
    assert 1 == run(BENCHMARK, ["--filter", "no such change"])
    assert "--filter no such change selects no change" in capsys.readouterr().err.replace("'", "")
