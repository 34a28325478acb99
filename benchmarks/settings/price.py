"""
Measure the CPU time of a million records with one change at a time, and then with all changes that helped.

Run the benchmark with `make bench-price`.
The program prints tables, and writes `price.json` and its chart.
The program exits with status 1 if a run is invalid.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.harness.cli import QUICK_RUN, RunOptions, exit_status, parse
from benchmarks.harness.conditions import conditions
from benchmarks.harness.plan import PlannedRun, back_and_forth, plain_console, run_on_broker, warm_broker
from benchmarks.harness.rate_search import find_limit
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from benchmarks.results.publish import BUILD_DIR, PUBLISHED_DIR, report_problems, write_json
from benchmarks.results.record_times import Traffic
from benchmarks.results.run_result import RunResult
from benchmarks.settings.chart import draw
from benchmarks.settings.price_variants import CHANGES, Change
from benchmarks.settings.prices import UNTOUCHED, WARM_UNTOUCHED, helpful, summarize_prices
from benchmarks.spark.queries import SparkOptions
from benchmarks.spark.variants import recommended, spark_case

MODULE = "price"
COMBINED = "all changes that helped, warm"
GROUP = 5
"""Changes between two runs of the untouched query, with which they are compared."""
SEARCHED: Workload = "stateful"
"""Workload whose highest rate is searched."""


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of this benchmark. The default values configure a full run."""

    duration: float = 22
    warm_up_seconds: float = 16
    long_warm_up_seconds: float = 90
    """Warm-up of the runs with all changes that helped, after which the JVM's compilers use no more CPU time."""
    interval_seconds: float = 5
    repeats: int = 1
    rate: float = 1_000
    """Records per second of the runs that measure CPU time and latency."""
    search_rates: tuple[float, ...] = (4_000, 6_000, 8_000, 10_000, 12_000)
    """Rates tested by the search for the highest rate, in records per second and in ascending order."""


@dataclass(frozen=True)
class Step:
    """One run: the case, and the group whose untouched query it is compared with."""

    case: Case
    group: int
    is_warm: bool = False
    """Whether the run has the long warm-up."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    quick = {**QUICK_RUN, "long_warm_up_seconds": QUICK_RUN["warm_up_seconds"]}
    options = parse(Options, MODULE, __doc__, "--quick --filter trackTotalNumberOfRows", arguments, {"quick": quick})
    return exit_status(lambda: _measure(options))


def _measure(options: Options) -> int:
    # The CPU time of a million records hardly depends on the boundaries, so the short warm-up is enough.
    console, base = plain_console(), recommended(options.interval_seconds, quick=True)
    traffic = Traffic(options.rate, options.warm_up_seconds, options.duration)
    warm_traffic = replace(traffic, warm_up_seconds=options.long_warm_up_seconds)
    changes = {
        workload: {name: change for name, change in named.items() if options.is_selected(workload, name)}
        for workload, named in CHANGES.items()
    }
    if not any(changes.values()):
        raise ValueError(f"--filter {' '.join(options.filter)!r} selects no change, so there is nothing to measure")
    with warm_broker(traffic, options.partitions, console) as servers:

        def run(steps: Sequence[Step]) -> list[tuple[RunResult, int]]:
            ordered = back_and_forth(steps, options.repeats)
            plan = [PlannedRun(step.case, warm_traffic if step.is_warm else traffic) for step in ordered]
            results = run_on_broker(servers, plan, options.partitions, options.max_late_runs, console)
            return list(zip(results, (step.group for step in ordered), strict=True))

        results = run(alone(base, changes))
        together = combined(base, changes, summarize_prices(results), first_group=len(results))
        results += run(together)
        # A filter selects a part of the changes, and the highest rate is that of all of them.
        limits, tried = ([], []) if options.filter else _limits(servers, base, together, traffic, options, console)
    content: dict[str, Any] = {
        "conditions": conditions(options),
        "cases": summarize_prices(results),
        "limits": limits,
        "steps": tried,
        "combined": {step.case.workload: step.case.settings["changes"] for step in together[1::2]},
        "changes": {
            workload: {name: asdict(one) for name, one in named.items()} for workload, named in changes.items()
        },
        "runs": [result.numbers | {"group": group} for result, group in results],
        "late_runs": [late for result, _ in results for late in result.late_runs],
    }
    console.print(price_table(content["cases"]))
    problems = [problem for result, _ in results for problem in result.problems]
    return _write(content, problems, console, publish=options.publish)


def _limits(
    servers: str, base: SparkOptions, together: Sequence[Step], traffic: Traffic, options: Options, console: Console
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Search the highest rate of the untouched query, and of the query with all changes that helped."""
    cases = [spark_case(UNTOUCHED, SEARCHED, base)]
    cases += [step.case for step in together if step.case.workload == SEARCHED and step.case.engine == COMBINED]
    limits, tried = list[dict[str, Any]](), list[dict[str, Any]]()
    for case in cases:
        limit, steps = find_limit(servers, case, options.search_rates, traffic, options.partitions, console)
        limits.append({"workload": case.workload, "engine": case.engine, "sustained_rate": limit})
        tried += steps
    return limits, tried


def alone(base: SparkOptions, changes: Mapping[Workload, Mapping[str, Change]]) -> list[Step]:
    """Return a run for each change, and before each `GROUP` of them one of the untouched query."""
    steps = list[Step]()
    for workload, named in changes.items():
        for number, (name, change) in enumerate(named.items()):
            if number % GROUP == 0:
                steps.append(Step(spark_case(UNTOUCHED, workload, base), len(steps)))
            steps.append(Step(spark_case(name, workload, change.applied(base)), steps[-1].group))
    return steps


def combined(
    base: SparkOptions,
    changes: Mapping[Workload, Mapping[str, Change]],
    cases: Sequence[Mapping[str, Any]],
    first_group: int,
) -> list[Step]:
    """Return two warm runs per workload with changes that helped: the untouched query, and all these changes."""
    steps = list[Step]()
    for workload, named in changes.items():
        names = helpful([case for case in cases if case["workload"] == workload])
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


def price_table(cases: Sequence[Mapping[str, Any]]) -> Table:
    """Return the price and the latency of each change, and both relative to the untouched query."""
    table = Table("workload", "change", "CPU s/million", "ratio", "p50 ms", "p99 ms", "p99 ratio", box=None)
    for case in cases:
        latencies = (f"{case['p50_ms']:,.1f}", f"{case['p99_ms']:,.1f}", f"{case['p99_ratio']:.2f}")
        price = (f"{case['cpu_seconds_per_million']:,.0f}", f"{case['cpu_ratio']:.2f}")
        table.add_row(case["workload"], case["engine"], *price, *latencies)
    return table


def _write(content: dict[str, Any], problems: Sequence[str], console: Console, *, publish: bool) -> int:
    folder = PUBLISHED_DIR if publish and not problems else BUILD_DIR
    written = [write_json(content, folder / f"{MODULE}.json"), *draw(content["cases"], folder / f"{MODULE}.svg")]
    console.print(f"written: {', '.join(map(str, written))}", soft_wrap=True)
    return report_problems(problems)


if __name__ == "__main__":
    sys.exit(main())
