"""Convert a run's result to a row of the JSON: its inputs and their cost."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.growth.engine import FIRST_QUERY
from benchmarks.growth.points import PlannedPoint
from benchmarks.harness.rate_search import is_sustained
from benchmarks.results.run_result import RunResult

NUMBERS = ("p50_ms", "p99_ms", "max_ms", "missing", "wrong", "boundaries", "outputs_per_record", "foreign_cores")


def point_row(planned: PlannedPoint, result: RunResult) -> dict[str, Any]:
    """Return the row of a run."""
    numbers, pauses_ms = result.numbers, result.numbers["pauses_ms"]
    state = _state(result.progress)
    kept_up, is_wrong = is_sustained(result), numbers["missing"] or numbers["wrong"]
    return {
        "dimension": planned.dimension,
        "label": planned.label,
        **planned.point.inputs,
        # The fill may have ended early, so the model uses the keys that the state really had.
        "state_keys": max(state["state_rows"], 1) if state["state_rows"] else planned.point.state_keys,
        "requested_state_keys": planned.point.state_keys,
        **state,
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
    """Return the problems that make the benchmark invalid."""
    return [f"{row['label']}: {row['problems']}" for row in rows if row["problems"]]


def _state(progress: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the state of the first query after its last batch, and the state of all queries in memory."""
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
