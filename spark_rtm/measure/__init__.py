"""Percentiles and CPU time measurement for the demonstration and the benchmarks."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
"""Shares by percentile name. p99 needs 10,000 values and p99.9 needs 100,000. A full benchmark has 120,000."""


def percentiles(values: Sequence[float] | npt.NDArray[Any], shares: Iterable[float]) -> list[float]:
    """Return the nearest-rank percentile for each share between 0 and 1."""
    ordered = np.sort(values)
    return [ordered[_rank(len(ordered), share) - 1].item() for share in shares]


def _rank(count: int, share: float) -> int:
    # Round the product first. In floating point, 7% of 100 is slightly more than 7, so `ceil` would return 8.
    return max(1, math.ceil(round(count * share, 6)))


def percentiles_ms(microseconds: npt.NDArray[np.int64]) -> dict[str, float]:
    """Return the `PERCENTILES` of microsecond values, in milliseconds."""
    values_us = percentiles(microseconds, PERCENTILES.values())
    return {name: value_us / 1000 for name, value_us in zip(PERCENTILES, values_us, strict=True)}


def percentiles_of_runs(runs: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return each percentile's high median, minimum and maximum over several runs (None without runs)."""
    summary: dict[str, float | None] = {}
    for name in PERCENTILES:
        values = [run[f"{name}_ms"] for run in runs]
        summary[f"{name}_ms"] = statistics.median_high(values) if values else None
        summary[f"{name}_lowest_ms"] = min(values, default=None)
        summary[f"{name}_highest_ms"] = max(values, default=None)
    return summary
