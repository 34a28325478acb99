"""Measure latency and CPU time with one changed setting at a time: about 90 minutes on two cores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console

from benchmarks.harness.benchmark import Outcome, RunOptions, case_table, conditions
from benchmarks.harness.plan import PlannedRun, run_plan
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from benchmarks.results.run_result import RunResult, Traffic
from benchmarks.results.summary import summarize
from benchmarks.settings.changes import TOPIC_PARTITIONS, Change, applied, changes_of
from benchmarks.settings.table import RATIOS, UNTOUCHED, ratios
from benchmarks.spark.queries import SparkOptions
from benchmarks.spark.variants import recommended, spark_case

STEM = "settings"
GROUP = 5
"""Number of changes between two runs of the untouched query."""

Changes = Mapping[Workload, Mapping[str, Change]]
Step = tuple[Case, int]
"""A run: its case, and the group whose untouched query it is compared with."""


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of this benchmark. The default values configure a full run."""

    duration: float = 22
    warm_up_seconds: float = 20
    interval_seconds: float = 6
    repeats: int = 1
    """Number of times that the whole plan runs."""
    rate: float = 1_000
    """Records per second."""


def measure(options: Options, console: Console) -> Outcome:
    """Measure each selected change, beside runs of the untouched query."""
    base = recommended(options.interval_seconds, quick=options.quick)
    changes: Changes = {
        workload: {name: change for name, change in named.items() if options.is_selected(workload, name)}
        for workload, named in changes_of(base).items()
    }
    if not any(changes.values()):
        raise ValueError(
            f"--filter {' '.join(options.filter)!r} selects no change, so nothing is measured; use a part of a name"
        )
    steps = steps_of(base, changes) * options.repeats
    traffic = Traffic(options.rate, options.warm_up_seconds, options.duration)
    plan = [PlannedRun(case, traffic) for case, _ in steps]
    results = run_plan(plan, options.max_late_runs, console)
    for result, (_, group) in zip(results, steps, strict=True):
        result.numbers["group"] = group
    content = {"conditions": conditions(options), **content_of(results)}
    console.print(case_table(content["cases"]))
    return Outcome(STEM, content, [problem for result in results for problem in result.problems])


def content_of(results: Sequence[RunResult]) -> dict[str, Any]:
    """Return the summary of runs, with each case's ratios to the untouched query."""
    content = summarize(results)
    found = ratios(content["runs"])
    for case in content["cases"]:
        case.update(found.get((case["workload"], case["engine"]), dict.fromkeys(RATIOS)))
    # The timelines of all changes would be the largest part of the JSON.
    return content | {"timelines": {}}


def steps_of(base: SparkOptions, changes: Changes) -> list[Step]:
    """Return a run for each change, with an untouched run before each `GROUP` and at the end."""
    steps = list[Step]()
    for workload, named in changes.items():
        for number, (name, change) in enumerate(named.items()):
            if number % GROUP == 0:
                steps.append((spark_case(UNTOUCHED, workload, base), len(steps)))
            case = spark_case(name, workload, applied(change, base))
            steps.append((replace(case, partitions=change.get(TOPIC_PARTITIONS, case.partitions)), steps[-1][1]))
        if named:
            steps.append((spark_case(UNTOUCHED, workload, base), len(steps)))
    return steps
