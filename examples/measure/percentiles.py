"""
Exact order statistics of raw times.

Whole numbers arrive, in microseconds or milliseconds; members of the same list leave.
The tail of real-time mode is a few rows of a batch boundary, which a sketch or an average would blur.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

WHOLE = 100_000
"""Shares are whole parts of this, because in floating point 99.9 % of 1,000 is a little more than 999."""
PERCENTILES = {"p50": 50_000, "p90": 90_000, "p99": 99_000, "p99.9": 99_900, "max": WHOLE}
"""10,000 values at least are needed for p99, 100,000 for p99.9; a full run has 120,000."""


def percentiles_ms(microseconds: npt.NDArray[np.int64]) -> dict[str, float]:
    """Return each percentile of times in microseconds, in milliseconds."""
    found = at_shares(microseconds, PERCENTILES.values())
    return {name: value / 1000 for name, value in zip(PERCENTILES, found, strict=True)}


def at_shares(values: npt.NDArray[np.int64], shares: Iterable[int]) -> list[int]:
    """Return for each share the smallest value that so many parts of the values do not exceed."""
    ordered = np.sort(values)
    return [int(ordered[max(0, -(-len(ordered) * share // WHOLE) - 1)]) for share in shares]


def percentiles_of_runs(runs: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return each percentile of several runs: their median, the least and the most; None where there is no run."""
    found: dict[str, float | None] = {}
    for name in PERCENTILES:
        values = [run[f"{name}_ms"] for run in runs]
        found |= {f"{name}_ms": median_of_runs(values) if values else None}
        found |= {f"{name}_least_ms": min(values, default=None), f"{name}_most_ms": max(values, default=None)}
    return found


def median_of_runs(values: Iterable[float]) -> float:
    """Return the middle of the percentiles of several runs, the higher one of two; they are never averaged."""
    return statistics.median_high(values)
