"""
Measure the phases of the stateful real-time query's batch boundary, by the steps that Spark logs.

Run the benchmark with `make bench-boundary`.
The program prints the phases, and writes `boundary.json` and the timeline of one boundary, `boundary.svg`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.boundary.chart import draw
from benchmarks.boundary.phases import PHASES, UNEXPLAINED, Explained
from benchmarks.boundary.run import WORKLOAD, changed, short_boundary, traced_case
from benchmarks.boundary.summary import few, summary
from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import RunOptions, conditions
from benchmarks.harness.plan import PlannedRun, run_on_broker, warm_broker
from benchmarks.results.record_times import Traffic
from benchmarks.results.validity import MIN_BOUNDARIES
from benchmarks.spark.variants import recommended

RECOMMENDED = "recommended"


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of this benchmark. The default values configure a full run."""

    duration: float = 32
    warm_up_seconds: float = 30
    interval_seconds: float = 6
    repeats: int = 1
    rate: float = 1_000
    """Records per second."""


def measure(options: Options, console: Console) -> Outcome:
    """Explain the boundaries, with the recommended settings and with the settings for a short boundary."""
    base = recommended(options.interval_seconds, quick=options.quick)
    traffic = Traffic(options.rate, options.warm_up_seconds, options.duration)
    variants = {RECOMMENDED: base, "short boundary": short_boundary(base)}
    selected = [name for name in variants if options.is_selected(WORKLOAD, name)]
    found: dict[str, list[Explained]] = {name: [] for name in selected}
    runs, problems = list[dict[str, Any]](), list[str]()
    with warm_broker(traffic, options.partitions, console) as servers:
        for repeat in range(options.repeats):
            for name in selected[:: -1 if repeat % 2 else 1]:
                kept = list[list[Explained]]()
                plan = [PlannedRun(traced_case(name, variants[name], traffic, kept), traffic)]
                [result] = run_on_broker(servers, plan, options.partitions, options.max_late_runs, console)
                found[name] += kept[-1]
                runs.append(result.numbers | {"problems": "; ".join(result.problems)})
                problems += result.problems
    problems += [few(name, len(explained)) for name, explained in found.items() if len(explained) < MIN_BOUNDARIES]
    cases = [
        summary(name, explained) | {"changed": changed(base, variants[name])}
        for name, explained in found.items()
        if explained
    ]
    _print(cases, console)
    content = {"conditions": conditions(options), "cases": cases, "runs": runs}
    return Outcome("boundary", content, problems, lambda folder: draw(cases, folder))


def _print(cases: Sequence[dict[str, Any]], console: Console) -> None:
    table = Table(
        "phase", *(case["engine"] for case in cases), title="mean of the boundaries, ms of the wait", box=None
    )
    for phase in (*PHASES, UNEXPLAINED):
        table.add_row(phase, *(f"{case['mean_ms'][phase]:.1f}" for case in cases))
    table.add_row("longest wait", *(f"{case['wait_mean_ms']:.1f}" for case in cases))
    console.print(table)


BENCHMARK = Benchmark("boundary", __doc__, Options, measure, example="--quick --filter recommended")
