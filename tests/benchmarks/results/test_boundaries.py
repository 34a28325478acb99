from datetime import UTC, datetime
from typing import Any

import numpy as np

from benchmarks.results.boundaries import Boundary, boundaries, median_phases, pause_ms


def progress(started_at: float, took_ms: float, name: str = "copy_0") -> dict[str, Any]:
    """Return the progress of a batch in Spark's format."""
    return {
        "name": name,
        "timestamp": datetime.fromtimestamp(started_at, UTC).isoformat().replace("+00:00", "Z"),
        "durationMs": {"triggerExecution": took_ms, "addBatch": took_ms - 100, "walCommit": 40},
        "stateOperators": [{"commitTimeMs": 60, "customMetrics": {"rocksdbLoadLatencyMs": 20}}],
    }


def test_boundary_lasts_from_interval_end_to_batch_end() -> None:
    batches = [progress(1000, 2300), progress(1002.3, 900), progress(1003.2, 2100), progress(1000, 2300, "other")]

    found = boundaries(batches, {"copy_0": 2})

    assert [(1002.0, 1002.3), (1005.2, 1005.3)] == [(round(b.due_at, 3), round(b.ended_at, 3)) for b in found]
    expected = {"triggerExecution": 100, "addBatch": 0, "walCommit": 40}
    assert expected | {"state commit, all partitions": 60, "state load, all partitions": 20} == median_phases(found)


def test_pause_is_the_longest_wait_around_the_boundary() -> None:
    due_us = np.array([1_001_900_000, 1_002_100_000, 1_003_200_000, 1_003_400_000])
    latency_us = np.array([900_000, 300_000, 100_000, 800_000])

    assert 300.0 == pause_ms(Boundary("copy_0", 1002.0, 1002.3, {}), due_us, latency_us)
