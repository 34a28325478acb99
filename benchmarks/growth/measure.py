"""
Measure how a query's cost grows with rate, partitions, keys, state, record size, queries and cores.

Each run differs from the base in one input; a few combined runs measure the error of the fitted cost model. The full
plan takes about 55 minutes on two cores.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from benchmarks.growth.engine import FIRST_QUERY, case_of
from benchmarks.growth.fit import model_rows
from benchmarks.growth.points import Point, planned_points
from benchmarks.harness.benchmark import Outcome, RunOptions, conditions
from benchmarks.harness.plan import PlannedRun, is_sustained, run_plan
from benchmarks.results.run_result import RunResult, Traffic
from benchmarks.spark.variants import recommended

QUICK_POINTS = 2
"""Number of points with `--quick` and without `--filter`: the base and the first further point."""
NUMBERS = ("p50_ms", "p99_ms", "max_ms", "missing", "wrong", "boundaries", "outputs_per_record", "foreign_cores")


@dataclass(frozen=True)
class Options(RunOptions):
    """Options for this benchmark. The default values configure a full run."""

    duration: float = 28
    warm_up_seconds: float = 25
    interval_seconds: float = 7
    repeats: int = 1
    """Number of repetitions of the whole plan."""
    max_late_runs: int = 1
    filter: tuple[str, ...] = ()
    """
    Run only the base and this dimension (repeatable): rate, partitions, keys, state_keys, record_bytes, queries, cores
    or combined.
    """


def measure(options: Options, console: Console) -> Outcome:
    """Run all points, or the selected dimensions."""
    base = recommended(options.interval_seconds, quick=options.quick)
    is_short = options.quick and not options.filter
    points = selected(options.filter)[: QUICK_POINTS if is_short else None] * options.repeats
    plan = [
        PlannedRun(case_of(point, base), Traffic(point.rate, options.warm_up_seconds, options.duration))
        for point in points
    ]
    results = run_plan(plan, options.max_late_runs, console)
    rows = [point_row(point, result) for point, result in zip(points, results, strict=True)]
    return outcome(options, rows)


def selected(dimensions: Sequence[str]) -> list[Point]:
    """Return all points, or the base and the points of these dimensions. Raise ValueError for an unknown dimension."""
    points = list(planned_points())
    if not dimensions:
        return points
    known = dict.fromkeys(point.dimension for point in points)
    if unknown := [name for name in dimensions if name not in known]:
        raise ValueError(f"--filter {unknown[0]!r} is not a dimension; use one of {', '.join(known)}")
    return [points[0], *(point for point in points[1:-1] if point.dimension in dimensions)]


def outcome(options: Options, rows: Sequence[dict[str, Any]]) -> Outcome:
    """Return the rows with the cost model. A partial run has no model and must not be published."""
    content = {"conditions": conditions(options), "runs": list(rows), "base": Point().inputs}
    problems = problems_of(rows)
    if not (options.filter or options.quick):
        try:
            content |= model_rows(rows)
        except ValueError as error:
            # The rows took an hour to measure, so they are written even if too few of them are valid.
            problems.append(str(error))
    elif options.publish:
        problems.append("the cost model requires the whole plan; run the benchmark without --filter to publish")
    return Outcome("growth", content, problems)


def point_row(point: Point, result: RunResult) -> dict[str, Any]:
    """Return one run as a row of the benchmark's JSON."""
    numbers, pauses_ms = result.numbers, result.numbers["pauses_ms"]
    kept_up, is_wrong = is_sustained(result), numbers["missing"] or numbers["wrong"]
    return {
        "dimension": point.dimension,
        "label": point.label,
        **point.inputs,
        **_state(result.progress),
        "busy_cores": numbers["engine_cores"],
        "cpu_seconds_per_million": numbers["cpu_seconds_per_million"],
        "memory_mb": numbers["engine_mb"],
        "pause_ms": statistics.median(pauses_ms) if pauses_ms else None,
        "pause_max_ms": max(pauses_ms, default=None),
        **{name: numbers.get(name) for name in NUMBERS},
        "kept_up": kept_up,
        # An engine that is too slow for a point, with late records or few boundaries, is a result, not a problem.
        "problems": "; ".join(result.problems) if kept_up or is_wrong else "",
    }


def problems_of(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a message for each problem that makes the benchmark invalid."""
    return [f"{row['label']}: {row['problems']}" for row in rows if row["problems"]]


def _state(progress: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the number of rows in the first query's state, and the size (MB) of all queries' state."""
    last = {batch["name"]: batch for batch in progress if batch.get("stateOperators")}
    operators = {name: batch["stateOperators"][0] for name, batch in last.items()}
    first = operators.get(FIRST_QUERY, {})
    return {
        "state_rows": first.get("numRowsTotal"),
        "state_mb": _megabytes(sum(each["memoryUsedBytes"] for each in operators.values())) if operators else None,
        "state_disk_mb": _megabytes(
            sum(each.get("customMetrics", {}).get("rocksdbSstFileSize", 0) for each in operators.values())
        ),
    }


def _megabytes(size: float) -> float:
    return round(size / 2**20, 2)
