"""
Measure the phases of the stateful real-time query's batch boundary, by the steps that Spark logs.

Run the benchmark with `make bench-boundary`.
The program writes `boundary.json` with the mean of each phase, and the timeline of one boundary, `boundary.svg`.
"""

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.boundary.chart import draw
from benchmarks.boundary.phases import PHASES, UNEXPLAINED, Explained, explain
from benchmarks.boundary.trace import marks, trace_file, with_trace
from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import RunOptions, conditions
from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.load_generator import TIMES_FILE, stored_times
from benchmarks.harness.plan import PlannedRun, run_on_broker, warm_broker
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from benchmarks.results.record_times import Traffic
from benchmarks.results.validity import MIN_BOUNDARIES
from benchmarks.spark.engine import spark_engine
from benchmarks.spark.idle_rules import EXCLUDED_CONF
from benchmarks.spark.queries import SparkOptions
from benchmarks.spark.variants import recommended

WORKLOAD: Workload = "stateful"
SHORT_BOUNDARY = {"spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Settings that remove work from the batch boundary: code generation at the start of each task."""
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
    """Return a message about a case with too few boundaries."""
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


def short_boundary(options: SparkOptions) -> SparkOptions:
    """Return options with less work at the batch boundary, and with one state task instead of two."""
    # The rules are excluded after the warm-up, which shows which of them have an effect.
    confs = {**options.confs, **SHORT_BOUNDARY}
    return replace(options, confs=confs, shuffle_partitions=1, exclude_idle_rules=True)


def changed(base: SparkOptions, options: SparkOptions) -> dict[str, str]:
    """Return the session settings of `options` that differ from those of `base`."""
    confs = {name: value for name, value in options.confs.items() if base.confs.get(name) != value}
    if options.shuffle_partitions != base.shuffle_partitions:
        confs["spark.sql.shuffle.partitions"] = str(options.shuffle_partitions)
    if options.exclude_idle_rules:
        confs[EXCLUDED_CONF] = "all rules that changed nothing during the warm-up"
    return confs


def traced_case(name: str, options: SparkOptions, traffic: Traffic, found: list[list[Explained]]) -> Case:
    """Return a case that adds the explained boundaries of each run to `found`."""

    @contextmanager
    def traced(run: Run) -> Iterator[Engine]:
        with spark_engine(with_trace(options, run.folder))(run) as engine:
            yield engine
        found.append(_explained(run.folder, traffic))

    return Case(name, WORKLOAD, traced, options.intervals(WORKLOAD), asdict(options))


def _explained(folder: Path, traffic: Traffic) -> list[Explained]:
    """Explain the boundaries after the warm-up."""
    times = stored_times(folder / TIMES_FILE, traffic)
    start_ms = times.due_us[0] / 1000 + 1000 * traffic.warm_up_seconds
    with trace_file(folder).open(encoding="utf-8") as lines:
        steps = [mark for mark in marks(lines) if mark.at_ms >= start_ms]
    return explain(steps, times)


BENCHMARK = Benchmark("boundary", __doc__, Options, measure, example="--quick --filter recommended")
