"""Count the rows and flushes of a sink epoch, and format the counts as one log line."""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field

MAX_DURATIONS = 10_000
"""Maximum number of stored durations. Older durations are dropped, because an epoch may last for days."""


def _newest_durations() -> deque[float]:
    return deque(maxlen=MAX_DURATIONS)


@dataclass
class Metrics:
    """The counts for one sink epoch in one task. Only one thread at a time writes to each field."""

    rows: int = 0
    """Rows passed to `process`."""
    deduped: int = 0
    """Rows replaced by a newer row with the same key before they were written."""
    flushed: int = 0
    """Rows that the database acknowledged, including stale rows."""
    stale_rows: int = 0
    """Acknowledged rows without effect, because the table contained the same or a newer version."""
    rejected_rows: int = 0
    """Rows passed to `on_rejected`."""
    flushes: int = 0
    retries: int = 0
    reconnects: int = 0
    watchdog_cuts: int = 0
    backpressure_seconds: float = 0
    """Total time that `process` waited for space in the buffer."""
    flush_ms: deque[float] = field(default_factory=_newest_durations)
    """Duration of each flush, including retries."""
    oldest_ms: deque[float] = field(default_factory=_newest_durations)
    """Time from each flush's oldest `process` call to the acknowledged commit."""

    def line(self) -> str:
        """Format all metrics as one line."""
        rows = ("rows", "deduped", "flushed", "stale_rows", "rejected_rows")
        flushes = ("flushes", "retries", "reconnects", "watchdog_cuts")
        counts = " ".join(f"{name}={getattr(self, name)}" for name in rows + flushes)
        return (
            f"{counts} backpressure_seconds={self.backpressure_seconds:.3f} "
            f"{_spread('flush', self.flush_ms)} {_spread('process_to_commit', self.oldest_ms)}"
        )


def _spread(name: str, values_ms: Collection[float]) -> str:
    # Compute nearest-rank percentiles without NumPy, so executors need only psycopg for this package.
    ordered = sorted(values_ms) or [0.0]
    p50, p99 = ordered[(len(ordered) - 1) // 2], ordered[-1 - len(ordered) // 100]
    return f"{name}_ms_p50={p50:.1f} {name}_ms_p99={p99:.1f} {name}_ms_max={ordered[-1]:.1f}"
