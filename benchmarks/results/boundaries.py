"""Find the batch boundaries of a run in the progress of its queries, and measure the pause at each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from spark_rtm.measure.percentiles import percentiles

Times = npt.NDArray[np.int64]
TASK_START_SECONDS = 1.0
"""Time from the end of a batch to the start of the next tasks, in which records also wait."""


@dataclass(frozen=True)
class Boundary:
    """The boundary at the end of one batch of one query."""

    query: str
    due_at: float
    """End of the trigger interval, in seconds since 1970."""
    ended_at: float
    """End of the last commit, in seconds since 1970."""
    phases_ms: dict[str, float]
    """
    Duration of each phase beyond the trigger interval, in ms. Phases of the state store are sums over all partitions.
    """


def boundaries(progress: Iterable[Mapping[str, Any]], intervals: Mapping[str, float]) -> list[Boundary]:
    """Return the boundary of each batch with its full interval or more. `intervals` maps query names to seconds."""
    found = []
    for batch in progress:
        interval = intervals.get(batch["name"])
        durations = batch.get("durationMs", {})
        if interval is None or durations.get("triggerExecution", 0) < 1000 * interval:
            continue
        started_at = datetime.fromisoformat(batch["timestamp"]).timestamp()
        ended_at = started_at + durations["triggerExecution"] / 1000
        found.append(Boundary(batch["name"], started_at + interval, ended_at, _phases(batch, 1000 * interval)))
    return found


def _phases(batch: Mapping[str, Any], interval_ms: float) -> dict[str, float]:
    durations = dict(batch["durationMs"])
    for whole in ("triggerExecution", "addBatch"):
        durations[whole] -= interval_ms
    for operator in batch.get("stateOperators", []):
        metrics = operator.get("customMetrics", {})
        durations["state commit, all partitions"] = operator["commitTimeMs"]
        durations["state load, all partitions"] = metrics.get("rocksdbLoadLatencyMs", 0)
    return durations


def pause_ms(boundary: Boundary, due_us: Times, latency_us: Times) -> float:
    """Return the maximum latency of records due around the boundary, or 0 without such records."""
    is_near = (due_us >= boundary.due_at * 1e6) & (due_us <= (boundary.ended_at + TASK_START_SECONDS) * 1e6)
    return float(latency_us[is_near].max()) / 1000 if is_near.any() else 0.0


def median_phases(found: Iterable[Boundary]) -> dict[str, float]:
    """Return the median of each phase over several boundaries."""
    phases: dict[str, list[float]] = {}
    for boundary in found:
        for name, duration_ms in boundary.phases_ms.items():
            phases.setdefault(name, []).append(duration_ms)
    return {name: percentiles(values, [0.5])[0] for name, values in sorted(phases.items())}
