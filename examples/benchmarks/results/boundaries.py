"""
Find the batch boundaries of a run in the progress of its queries, and what each cost.

The progress of batches and the latencies of records arrive; the gap at each boundary and its phases leave.
In real-time mode a record that comes after the tasks of a batch have ended waits until those of the next have started.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from examples.measure.percentiles import percentiles

AFTER_SECONDS = 1.0
"""The first rows of the next batch wait for its tasks, which the progress of the last one does not contain."""


@dataclass(frozen=True)
class Boundary:
    """The end of one batch of one query."""

    query: str
    due_at: float
    """When the interval was over; in seconds since 1970."""
    ended_at: float
    """When everything was committed."""
    phases_ms: dict[str, float]
    """Durations; those of the whole batch without its interval, those of the state summed over its partitions."""


def boundaries(progress: Iterable[Mapping[str, Any]], intervals: Mapping[str, float]) -> list[Boundary]:
    """Return the boundaries of batches that lasted at least their interval; `intervals` are seconds by query name."""
    found = []
    for batch in progress:
        interval = intervals.get(batch["name"])
        durations = batch.get("durationMs", {})
        if interval is None or durations.get("triggerExecution", 0) < 1000 * interval:
            continue
        started = datetime.fromisoformat(batch["timestamp"]).timestamp()
        ended = started + durations["triggerExecution"] / 1000
        found.append(Boundary(batch["name"], started + interval, ended, _phases(batch, 1000 * interval)))
    return found


def _phases(batch: Mapping[str, Any], interval_ms: float) -> dict[str, float]:
    durations = dict(batch["durationMs"])
    for whole in ("triggerExecution", "addBatch"):
        durations[whole] -= interval_ms
    for operator in batch.get("stateOperators", []):
        own = operator.get("customMetrics", {})
        durations["state commit, all partitions"] = operator["commitTimeMs"]
        durations["state load, all partitions"] = own.get("rocksdbLoadLatencyMs", 0)
    return durations


def gap_ms(boundary: Boundary, due_us: npt.NDArray[np.int64], latency_us: npt.NDArray[np.int64]) -> float:
    """Return the longest wait of a record that was due around the boundary, or 0 if none was."""
    near = (due_us >= boundary.due_at * 1e6) & (due_us <= (boundary.ended_at + AFTER_SECONDS) * 1e6)
    return float(latency_us[near].max()) / 1000 if near.any() else 0.0


def median_phases(found: Iterable[Boundary]) -> dict[str, float]:
    """Return the median of each phase over some boundaries."""
    phases: dict[str, list[float]] = {}
    for boundary in found:
        for name, milliseconds in boundary.phases_ms.items():
            phases.setdefault(name, []).append(milliseconds)
    return {name: percentiles(values, [0.5])[0] for name, values in sorted(phases.items())}
