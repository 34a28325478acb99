"""The traffic, the timestamps, the batch boundaries and the result of one benchmark run, and the run's validity."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from spark_rtm.measure import percentiles

Times = npt.NDArray[np.int64]
TASK_START_SECONDS = 1.0
"""Time from the end of a batch to the start of the next batch's tasks. Records also wait during this time."""
MIN_ACHIEVED_SHARE = 0.99
MAX_LAG_SHARE_OF_P50 = 0.1
ALWAYS_ALLOWED_LAG_MS = 5.0
"""Sending lag that is always accepted, because latency includes it. On busy cores, a thread waits for a time slice."""
MIN_BOUNDARIES = 3
MAX_FOREIGN_CORES = 0.15
SETTLE_SECONDS = 8.0
"""Seconds at the end of the warm-up that have the measured rate, if the warm-up begins with another rate."""
CaseKey = tuple[str, str, float]
"""Identifies a case: workload, engine and rate."""


@dataclass(frozen=True)
class Boundary:
    """The boundary at the end of one batch."""

    due_at: float
    """End of the trigger interval, in seconds since 1970."""
    ended_at: float
    """End of the last commit, in seconds since 1970."""
    phases_ms: dict[str, float]
    """
    Duration of each phase beyond the trigger interval, in ms. Phases of the state store are sums over all partitions.
    """


def boundaries(progress: Iterable[Mapping[str, Any]], intervals: Mapping[str, float]) -> list[Boundary]:
    """Return the boundary of each batch that lasted at least its interval. `intervals` maps query names to seconds."""
    found = []
    for batch in progress:
        interval = intervals.get(batch["name"])
        durations = batch.get("durationMs", {})
        if interval is None or durations.get("triggerExecution", 0) < 1000 * interval:
            continue
        started_at = datetime.fromisoformat(batch["timestamp"]).timestamp()
        ended_at = started_at + durations["triggerExecution"] / 1000
        found.append(Boundary(started_at + interval, ended_at, _phases(batch, 1000 * interval)))
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
    """Return the maximum latency of records due around the boundary, or 0 if there are none."""
    is_near = (due_us >= boundary.due_at * 1e6) & (due_us <= (boundary.ended_at + TASK_START_SECONDS) * 1e6)
    return float(latency_us[is_near].max()) / 1000 if is_near.any() else 0.0


def median_phases(found: Iterable[Boundary]) -> dict[str, float]:
    """Return the median of each phase over several boundaries."""
    phases: dict[str, list[float]] = {}
    for boundary in found:
        for name, duration_ms in boundary.phases_ms.items():
            phases.setdefault(name, []).append(duration_ms)
    return {name: percentiles(values, [0.5])[0] for name, values in sorted(phases.items())}


def problems(
    numbers: Mapping[str, Any], examples: Iterable[str] = (), min_boundaries: int = MIN_BOUNDARIES
) -> list[str]:
    """Return the problems that invalidate a run. `examples` describe wrong outputs."""
    missing, wrong, boundaries = numbers["missing"], numbers["wrong"], numbers["boundaries"]
    share = numbers["achieved_share"]
    checks = {
        f"{missing} records have no output": missing,
        f"{wrong} outputs differ from the replay, for example {'; '.join(examples)}": wrong,
        f"the load generator reached {share:.1%} of the requested rate; use a lower --rate": share < MIN_ACHIEVED_SHARE,
        **dict.fromkeys(late_sending(numbers), True),
        f"the run has only {boundaries} batch boundaries; use a longer --duration": boundaries < min_boundaries,
    }
    return [problem for problem, is_found in checks.items() if is_found]


def busy_machine(numbers: Mapping[str, Any], max_cores: float = MAX_FOREIGN_CORES) -> list[str]:
    """Return a message if other programs used more than `max_cores` cores, otherwise an empty list."""
    cores = numbers.get("foreign_cores", 0)
    return [f"other programs used {cores:.2f} cores"] if cores > max_cores else []


def late_sending(numbers: Mapping[str, Any]) -> list[str]:
    """Return a message if records were sent late. The cause is a slow machine, not the engine."""
    max_lag_ms = max(ALWAYS_ALLOWED_LAG_MS, MAX_LAG_SHARE_OF_P50 * numbers.get("p50_ms", 0))
    if numbers["lag_p99_ms"] <= max_lag_ms:
        return []
    return [f"records were sent late: p99 {numbers['lag_p99_ms']:.1f} ms, allowed {max_lag_ms:.1f} ms"]


@dataclass(frozen=True)
class Traffic:
    """Rate and duration of a run's records."""

    rate: float
    """Records per second."""
    warm_up_seconds: float
    """Seconds at the start of the traffic, whose records are not measured."""
    duration_seconds: float
    """Seconds of measured traffic after the warm-up."""
    drain_seconds: float = 30
    """Maximum time between sending the last record and receiving the last output."""
    warm_up_rate: float = 0
    """Records per second until `SETTLE_SECONDS` before the end of the warm-up, or 0 for `rate`."""

    @property
    def first_records(self) -> int:
        """Return the number of records sent at `warm_up_rate`."""
        return round(self.warm_up_rate * self._first_seconds)

    @property
    def records(self) -> int:
        """Return the number of records of the run, including the warm-up."""
        return self.first_records + round(self.rate * (self.seconds - self._first_seconds))

    @property
    def seconds(self) -> float:
        """Return the duration of the traffic in seconds, including the warm-up."""
        return self.warm_up_seconds + self.duration_seconds

    @property
    def _first_seconds(self) -> float:
        return max(0.0, self.warm_up_seconds - SETTLE_SECONDS) if self.warm_up_rate else 0.0


@dataclass(frozen=True)
class RecordTimes:
    """Timestamps of each record by sequence number, or 0 for events that have not happened."""

    due_us: Times
    sent_us: Times
    appended_ms: Times
    answer_appended_ms: Times
    received_us: Times

    def measured(self, traffic: Traffic) -> npt.NDArray[np.bool_]:
        """Return a mask of the records due after the warm-up. Selecting records by arrival time would hide stalls."""
        mask: npt.NDArray[np.bool_] = self.due_us >= self.due_us[0] + traffic.warm_up_seconds * 1e6
        return mask


@dataclass(frozen=True)
class RunResult:
    """The measurements of one run, and the problems that invalidate it."""

    numbers: dict[str, Any]
    """Metrics by name. `workload`, `engine` and `rate` identify the case."""
    problems: list[str]
    """Reasons why the run is invalid."""
    latency_us: Times
    """Time from the due time to the receipt of the output, for each measured record with an output."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    has_boundaries: bool = False
    progress: tuple[dict[str, Any], ...] = ()
    """Progress of the finished batches, oldest first."""
    late_runs: tuple[dict[str, Any], ...] = ()
    """Results of earlier, disturbed attempts, which do not count."""

    def is_only_disturbed(self) -> bool:
        """Return whether only the machine caused problems, in which case the run should be repeated."""
        disturbances = {*late_sending(self.numbers), *busy_machine(self.numbers, 0)}
        return bool(self.problems) and set(self.problems) <= disturbances


def key_of(numbers: Mapping[str, Any]) -> CaseKey:
    """Return the case to which a run belongs."""
    return numbers["workload"], numbers["engine"], numbers["rate"]


def label_of(numbers: Mapping[str, Any]) -> str:
    """Return a case's label, which is also its key in the JSON."""
    return f"{numbers['workload']}, {numbers['engine']}, {numbers['rate']:g}/s"
