"""
Measure the phases of the stateful real-time query's batch boundary, by the steps that Spark logs.

Run the benchmark with `make bench-boundary`.
The program writes `boundary.json` with the mean of each phase, and the timeline of one boundary, `boundary.svg`.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from benchmarks.boundary.chart import draw
from benchmarks.boundary.phases import PHASES, UNEXPLAINED, Explained
from benchmarks.boundary.run import WORKLOAD, changed, short_boundary, traced_case
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
    content = {"conditions": conditions(options), "cases": cases, "runs": runs}
    return Outcome("boundary", content, problems, lambda folder: draw(cases, folder))


def few(name: str, boundaries: int) -> str:
    """Return the problem of a case with too few boundaries."""
    return f"{name}: only {boundaries} boundaries have a complete trace; use a longer --duration"


def summary(name: str, found: Sequence[Explained]) -> dict[str, Any]:
    """Return the mean share of each phase, the waits, and the boundary whose wait is the (upper) median."""
    shares = [one.shares() for one in found]
    typical = sorted(found, key=lambda one: one.wait_ms)[len(found) // 2]
    return {
        "engine": name,
        "boundaries": len(found),
        "wait_mean_ms": round(statistics.mean(one.wait_ms for one in found), 1),
        "wait_max_ms": round(max(one.wait_ms for one in found), 1),
        # The shares of a boundary add up to its wait, so their means add up to the mean wait.
        "mean_ms": {phase: round(statistics.mean(one[phase] for one in shares), 1) for phase in (*PHASES, UNEXPLAINED)},
        "typical": {
            "batch": typical.batch,
            "wait_ms": round(typical.wait_ms, 1),
            "spans": {phase: [round(start, 1), round(end, 1)] for phase, (start, end) in typical.spans.items()},
            "shares_ms": {phase: round(share, 1) for phase, share in typical.shares().items()},
        },
        "waits_ms": [round(one.wait_ms, 1) for one in found],
    }


BENCHMARK = Benchmark("boundary", __doc__, Options, measure, example="--quick --filter recommended")
