from collections import deque

import pytest

from spark_rtm.measure.percentiles import percentiles
from spark_rtm.sinks.metrics import Metrics


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101])
def test_log_line_shows_the_percentiles_of_the_examples(count: int) -> None:
    """The log line's percentiles, computed without NumPy, equal `spark_rtm.measure`; no values are zeros."""
    flush_ms = deque(float(n) for n in reversed(range(count)))
    p50, p99, longest = percentiles(flush_ms, (0.5, 0.99, 1))

    assert (
        "rows=0 deduped=0 flushed=0 stale_rows=0 rejected_rows=0 flushes=0 retries=0 reconnects=0 watchdog_cuts=0 "
        f"backpressure_seconds=0.000 flush_ms_p50={p50:.1f} flush_ms_p99={p99:.1f} flush_ms_max={longest:.1f} "
        "process_to_commit_ms_p50=0.0 process_to_commit_ms_p99=0.0 process_to_commit_ms_max=0.0"
    ) == Metrics(flush_ms=flush_ms).line()
