"""
Put the runs of a plan together: a row for each cell, a row for each run, and the points of the charts.

Runs arrive; what is written as JSON leaves. Tables of pages and charts are made from that alone.
Percentiles of runs are never averaged: a cell shows the median of its runs, with the least and the most beside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from examples.benchmarks.harness.run import Trial
from examples.measure.percentiles import median_of_runs, percentiles, percentiles_of_runs

FLOOR, MICRO_BATCH, UNTUNED = "raw echo", "micro-batch", "micro-batch, untuned"
CURVE_PERCENTS = [
    n / 1000
    for n in (*range(0, 99_000, 1_000), *range(99_000, 99_900, 100), *range(99_900, 99_990, 10), 99_990, 100_000)
]
BUCKET_SECONDS = 0.1
Key = tuple[Any, ...]
"""Work, engine, arrivals and rate of a cell."""
MEDIANS = ("engine_p50_ms", "engine_p99_ms", "answers_per_second", "engine_cores", "cpu_s_per_million", "engine_mb")


def summarise(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return the rows of the cells, the runs, the phases of the boundaries, and the points of the charts."""
    cells: dict[Key, list[Trial]] = {}
    for trial in trials:
        cells.setdefault(key_of(trial.numbers), []).append(trial)
    numbers = {key: [run.numbers for run in runs] for key, runs in cells.items()}
    rows = [_row(runs) | ratios(key, numbers) for key, runs in cells.items()]
    return {
        "cells": rows,
        "phases": [
            {"work": row["work"], "engine": row["engine"], **_phases(runs)} for row, runs in _bounded(rows, cells)
        ],
        "runs": [
            {**_flat(trial.numbers), "problems": "; ".join(trial.problems), "warnings": "; ".join(trial.warnings)}
            for trial in trials
        ],
        "late": [_flat(numbers) for trial in trials for numbers in trial.late],
        "settings": {_label(runs[0]): dict(runs[0].cell.settings) for runs in cells.values()},
        "curves": {_label(runs[0]): _curve(runs[0]) for runs in cells.values()},
        "timelines": {_label(runs[0]): _timeline(runs[0]) for _, runs in _bounded(rows, cells)},
    }


def key_of(numbers: Mapping[str, Any]) -> Key:
    """Return the cell to which a run belongs."""
    return tuple(numbers[name] for name in ("work", "engine", "arrivals", "rate"))


def _row(runs: Sequence[Trial]) -> dict[str, Any]:
    numbers = [run.numbers for run in runs]
    row = {name: numbers[0][name] for name in ("work", "engine", "arrivals", "rate")}
    row |= {"runs": len(runs), "records": sum(one["records"] for one in numbers)}
    # A run without any answer is invalid, and its cell shows no time at all.
    row |= percentiles_of_runs([one for one in numbers if one["records"]])
    row |= {name: median_of_runs(one.get(name) or 0 for one in numbers) for name in MEDIANS}
    gaps = [gap for one in numbers for gap in one["gaps_ms"]]
    row |= {"boundaries": len(gaps), "gap_median_ms": median_of_runs(gaps) if gaps else None}
    row |= {"gap_most_ms": max(gaps, default=None)}
    row["outputs_per_record"] = min(one["outputs_per_record"] for one in numbers)
    return row


def ratios(key: Key, cells: Mapping[Key, Sequence[Mapping[str, Any]]]) -> dict[str, float | None]:
    """
    Compare p50 with the floor, and with micro-batch doing the same work, with our settings and with Spark's own.

    Each is the middle of what the repeats show.

    The floor does less than any work: that ratio is what the work costs. An output that answers several records counts
    for each of them, so micro-batch compares also where it merges.
    """
    work, _, *load = key
    floor = next((runs for other, runs in cells.items() if other[1:] == (FLOOR, *load)), [])
    micro_batch, untuned = (cells.get((work, engine, *load), []) for engine in (MICRO_BATCH, UNTUNED))
    return {
        "times_floor": _ratio(cells[key], floor, 2),
        "below_micro_batch": _ratio(micro_batch, cells[key], 1),
        "below_untuned": _ratio(untuned, cells[key], 1),
    }


def _ratio(runs: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], digits: int) -> float | None:
    """Divide each run by the one of the same repeat, because the machine's speed changes from hour to hour."""
    pairs = zip(runs, others, strict=False)
    found = [one["p50_ms"] / other["p50_ms"] for one, other in pairs if one["records"] and other["records"]]
    return round(median_of_runs(found), digits) if found else None


def _bounded(rows: list[dict[str, Any]], cells: Mapping[Key, list[Trial]]) -> list[tuple[dict[str, Any], list[Trial]]]:
    return [(row, runs) for row, runs in zip(rows, cells.values(), strict=True) if runs[0].cell.intervals]


def _phases(runs: Sequence[Trial]) -> dict[str, float]:
    names = sorted({name for run in runs for name in run.numbers["phases_ms"]})
    return {name: median_of_runs(run.numbers["phases_ms"].get(name, 0) for run in runs) for name in names}


def _flat(numbers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in numbers.items() if name != "phases_ms"}


def _label(trial: Trial) -> str:
    numbers = trial.numbers
    return f"{numbers['work']}, {numbers['engine']}, {numbers['rate']:g}/s {numbers['arrivals']}"


def _curve(trial: Trial) -> dict[str, Any]:
    shares = [percent / 100 for percent in CURVE_PERCENTS]
    values = percentiles(trial.latency_us, shares) if len(trial.latency_us) else []
    return {"percents": CURVE_PERCENTS, "ms": [value / 1000 for value in values]}


def _timeline(trial: Trial) -> dict[str, Any]:
    """Return the worst latency of each tenth of a second, and when batches were due to end, from the first record."""
    if not len(trial.due_us):
        return {}
    start = int(trial.due_us[0])
    buckets = ((trial.due_us - start) / 1e6 / BUCKET_SECONDS).astype(int)
    worst = np.zeros(int(buckets.max()) + 1, dtype=np.int64)
    np.maximum.at(worst, buckets, trial.latency_us)
    ends = [round(boundary.due_at - start / 1e6, 2) for boundary in trial.boundaries]
    return {"bucket_seconds": BUCKET_SECONDS, "worst_ms": [round(int(us) / 1000, 1) for us in worst], "ends_s": ends}
