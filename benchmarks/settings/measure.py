"""
Measure latency and CPU time with one changed setting at a time, then with all helpful ones.

Run the benchmark with `make bench-settings`. The full plan takes about 90 minutes on two cores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import QUICK_RUN, RunOptions, conditions
from benchmarks.harness.plan import PlannedRun, back_and_forth, run_on_broker, warm_broker
from benchmarks.harness.rate_search import find_limits
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from benchmarks.results import charts
from benchmarks.results.record_times import Traffic
from benchmarks.results.run_result import RunResult
from benchmarks.results.summary import summarize
from benchmarks.results.table import print_cases
from benchmarks.settings.changes import Change, changes_of
from benchmarks.settings.compare import COMBINED, RATIOS, UNTOUCHED, WARM_UNTOUCHED, helpful, ratios
from benchmarks.spark.queries import SparkOptions
from benchmarks.spark.variants import recommended, spark_case

STEM = "settings"
GROUP = 5
"""Number of changes between two runs of the untouched query."""
SEARCHED: Workload = "stateful"
"""Workload for the search of the highest rate."""

Changes = Mapping[Workload, Mapping[str, Change]]


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of this benchmark. The default values configure a full run."""

    duration: float = 22
    warm_up_seconds: float = 20
    long_warm_up_seconds: float = 90
    """Warm-up of the runs with all helpful changes, after which the JVM's compilers are idle."""
    interval_seconds: float = 6
    repeats: int = 1
    rate: float = 1_000
    """Records per second of the runs that measure CPU time and latency."""
    search_rates: tuple[float, ...] = (4_000, 6_000, 8_000, 10_000, 12_000)
    """Rates that the search tries, in records per second, in ascending order."""


@dataclass(frozen=True)
class Step:
    """A run: its case, and the group whose untouched query it is compared with."""

    case: Case
    group: int
    is_warm: bool = False
    """Whether the run has the long warm-up."""


def measure(options: Options, console: Console) -> Outcome:
    """Measure each change alone, then all helpful ones together with their highest rate."""
    base = recommended(options.interval_seconds, quick=options.quick)
    traffic = Traffic(options.rate, options.warm_up_seconds, options.duration)
    warm_traffic = replace(traffic, warm_up_seconds=options.long_warm_up_seconds)
    changes: Changes = {
        workload: {name: change for name, change in named.items() if options.is_selected(workload, name)}
        for workload, named in changes_of(base).items()
    }
    if not any(changes.values()):
        raise ValueError(
            f"--filter {' '.join(options.filter)!r} selects no change, so nothing is measured; use a part of a name"
        )
    with warm_broker(traffic, options.partitions, console) as servers:

        def run(steps: Sequence[Step]) -> list[RunResult]:
            ordered = back_and_forth(steps, options.repeats)
            plan = [PlannedRun(step.case, warm_traffic if step.is_warm else traffic) for step in ordered]
            results = run_on_broker(servers, plan, options.partitions, options.max_late_runs, console)
            for result, step in zip(results, ordered, strict=True):
                result.numbers["group"] = step.group
            return results

        results = run(alone(base, changes))
        together = combined(base, changes, content_of(results), first_group=len(results))
        results += run(together)
        # A filter selects a part of the changes, but the highest rate is measured with all of them.
        limits, tried = ([], []) if options.filter else _limits(servers, base, together, traffic, options, console)
    content = {
        "conditions": conditions(options),
        **content_of(results),
        "limits": limits,
        "steps": tried,
        "combined": {step.case.workload: step.case.settings["changes"] for step in together[1::2]},
    }
    print_cases(content, console)
    problems = [problem for result in results for problem in result.problems]
    return Outcome(STEM, content, problems, lambda folder: _draw(content, folder))


def content_of(results: Sequence[RunResult]) -> dict[str, Any]:
    """Return the summary of runs, with each case's ratios to the untouched query."""
    content = summarize(results)
    found = ratios(content["runs"])
    for case in content["cases"]:
        case.update(found.get((case["workload"], case["engine"]), dict.fromkeys(RATIOS)))
    # The timelines of all changes would be the largest part of the JSON, and no chart shows them.
    return content | {"timelines": {}}


def alone(base: SparkOptions, changes: Changes) -> list[Step]:
    """Return a run for each change, with an untouched run before each `GROUP` and at the end."""
    steps = list[Step]()
    for workload, named in changes.items():
        for number, (name, change) in enumerate(named.items()):
            if number % GROUP == 0:
                steps.append(Step(spark_case(UNTOUCHED, workload, base), len(steps)))
            case = replace(spark_case(name, workload, change.applied(base)), partitions=change.topic_partitions)
            steps.append(Step(case, steps[-1].group))
        if named:
            steps.append(Step(spark_case(UNTOUCHED, workload, base), len(steps)))
    return steps


def combined(base: SparkOptions, changes: Changes, measured: Mapping[str, Any], first_group: int) -> list[Step]:
    """Return two warm runs per workload with helpful changes: untouched, and with all changes."""
    steps = list[Step]()
    for workload, named in changes.items():
        names = [n for n in helpful(measured["cases"], measured["runs"], workload) if named[n].may_combine]
        # Of the changes between two hops, a query can have only one.
        if workload == "two hops" or not names:
            continue
        options, group = base, first_group + len(steps)
        for name in names:
            options = named[name].applied(options)
        case = spark_case(COMBINED, workload, options)
        steps.append(Step(spark_case(WARM_UNTOUCHED, workload, base), group, is_warm=True))
        steps.append(Step(replace(case, settings={**case.settings, "changes": names}), group, is_warm=True))
    return steps


def _limits(
    servers: str, base: SparkOptions, together: Sequence[Step], traffic: Traffic, options: Options, console: Console
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Search for the highest rates of the untouched query and the query with all helpful changes."""
    cases = [spark_case(UNTOUCHED, SEARCHED, base)]
    cases += [step.case for step in together if step.case.workload == SEARCHED and step.case.engine == COMBINED]
    return find_limits(servers, cases, options.search_rates, traffic, options.partitions, console)


def _draw(content: Mapping[str, Any], folder: Path) -> list[Path]:
    by_effect = sorted(content["cases"], key=lambda case: (case["workload"], case["p99_ms"] or 0))
    return charts.draw({**content, "cases": by_effect}, folder, STEM)


BENCHMARK = Benchmark(
    STEM,
    __doc__,
    Options,
    measure,
    example="--quick --filter trackTotalNumberOfRows",
    presets={"quick": {**QUICK_RUN, "long_warm_up_seconds": QUICK_RUN["warm_up_seconds"]}},
)
