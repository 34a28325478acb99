from collections import deque

import pytest

from spark_rtm.measure.percentiles import percentiles
from spark_rtm.sinks.metrics import Metrics


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 1_000])
def test_log_line_shows_the_percentiles_of_the_examples(count: int) -> None:
    """The log line's percentiles, computed without NumPy, equal `spark_rtm.measure`."""
    flush_ms = deque(float(n) for n in reversed(range(count)))
    p50, p99, longest = percentiles(flush_ms, (0.5, 0.99, 1))

    line = Metrics(flush_ms=flush_ms).line()

    assert f"flush_ms_p50={p50:.1f} flush_ms_p99={p99:.1f} flush_ms_max={longest:.1f}" in line


def test_log_line_without_flushes_shows_zeros() -> None:
    expected = (
        "rows=0 deduped=0 flushed=0 stale_rows=0 rejected_rows=0 flushes=0 retries=0 reconnects=0 watchdog_cuts=0 "
        "backpressure_seconds=0.000 flush_ms_p50=0.0 flush_ms_p99=0.0 flush_ms_max=0.0 "
        "process_to_commit_ms_p50=0.0 process_to_commit_ms_p99=0.0 process_to_commit_ms_max=0.0"
    )

    assert expected == Metrics().line()
