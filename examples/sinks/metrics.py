"""
Count what one epoch of a sink did.

What arrives are counts and durations from the task's thread and the flusher's; what leaves is one line for the log.
Real-time mode reports no latency of a sink, so the way from `process` to the commit is measured here.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

KEPT = 10_000
"""Durations that are kept: the newest ones, because an epoch may last for days."""


def _kept() -> deque[float]:
    return deque(maxlen=KEPT)


@dataclass
class Metrics:
    """Counts of one epoch and task; every field has one writing thread at a time."""

    rows: int = 0
    """Rows given to `process`."""
    deduped: int = 0
    """Rows that a newer one of the same key replaced before they were written."""
    flushed: int = 0
    """Rows that the database acknowledged, the stale ones included."""
    stale_rows: int = 0
    """Acknowledged rows that changed nothing, because the table had this version or a newer one."""
    flushes: int = 0
    retries: int = 0
    reconnects: int = 0
    watchdog_cuts: int = 0
    backpressure_s: float = 0
    """How long `process` had to wait for room."""
    flush_ms: deque[float] = field(default_factory=_kept)
    """Duration of each flush, retries included."""
    oldest_ms: deque[float] = field(default_factory=_kept)
    """For each flush, from `process` of its oldest row to the acknowledged commit."""

    def line(self) -> str:
        """Return everything as one line."""
        counts = ("rows", "deduped", "flushed", "stale_rows", "flushes", "retries", "reconnects", "watchdog_cuts")
        return (
            " ".join(f"{name}={getattr(self, name)}" for name in counts)
            + f" backpressure_s={self.backpressure_s:.3f} {_spread('flush', self.flush_ms)}"
            + f" {_spread('process_to_commit', self.oldest_ms)}"
        )


def percentiles(values: Collection[float]) -> tuple[float, float, float]:
    """Return p50, p99 and maximum; every one is a value that occurred. Zeros stand for no values."""
    if not values:
        return 0.0, 0.0, 0.0
    p50, p99, most = np.percentile(list(values), (50, 99, 100), method="inverted_cdf")
    return float(p50), float(p99), float(most)


def _spread(name: str, values: Collection[float]) -> str:
    p50, p99, most = percentiles(values)
    return f"{name}_ms_p50={p50:.1f} {name}_ms_p99={p99:.1f} {name}_ms_max={most:.1f}"
