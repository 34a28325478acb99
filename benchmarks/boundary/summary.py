"""Summarize the explained boundaries of a case."""

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.boundary.phases import PHASES, UNEXPLAINED, Explained


def few(name: str, boundaries: int) -> str:
    """Return the problem of a case with too few boundaries."""
    return f"{name}: only {boundaries} boundaries have a complete trace; use a longer --duration"


def summary(name: str, found: Sequence[Explained]) -> dict[str, Any]:
    """Return the mean share of each phase, the waits, and the boundary whose wait is the (upper) median."""
    shares = [one.shares() for one in found]
    typical = sorted(found, key=lambda one: one.wait_ms)[len(found) // 2]
    return {
        "engine": name,
        "boundaries": len(found),
        "wait_mean_ms": round(statistics.mean(one.wait_ms for one in found), 1),
        "wait_max_ms": round(max(one.wait_ms for one in found), 1),
        # The shares of a boundary add up to its wait, so their means add up to the mean wait.
        "mean_ms": {phase: round(statistics.mean(one[phase] for one in shares), 1) for phase in (*PHASES, UNEXPLAINED)},
        "typical": {
            "batch": typical.batch,
            "wait_ms": round(typical.wait_ms, 1),
            "spans": {phase: [round(start, 1), round(end, 1)] for phase, (start, end) in typical.spans.items()},
            "shares_ms": {phase: round(share, 1) for phase, share in typical.shares().items()},
        },
        "waits_ms": [round(one.wait_ms, 1) for one in found],
    }
