"""Compare each changed query with the untouched query, and find changes within the noise."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median_high
from typing import Any

UNTOUCHED = "untouched"
WARM_UNTOUCHED = "untouched, warm"
"""The untouched query after a longer warm-up, in the published runs of `make bench-price`."""
RATIOS = {"cpu_ratio": "cpu_seconds_per_million", "p50_ratio": "p50_ms", "p99_ratio": "p99_ms"}

Numbers = Mapping[str, Any]


def is_untouched(engine: str) -> bool:
    """Return whether a case is the untouched query."""
    return engine in {UNTOUCHED, WARM_UNTOUCHED}


def ratios(runs: Sequence[Numbers]) -> dict[tuple[str, str], dict[str, float]]:
    """
    Return the ratios of each change to the untouched query, keyed by workload and change.

    Each is the median over the repeats of two runs of one group, because the machine's speed changes from hour to hour.
    """
    untouched: dict[int, list[Numbers]] = {}
    for run in filter(lambda run: is_untouched(run["engine"]), runs):
        untouched.setdefault(run["group"], []).append(run)
    repeats: Counter[tuple[int, str]] = Counter()
    pairs: dict[tuple[str, str], list[tuple[Numbers, Numbers]]] = {}
    for run in runs:
        base = untouched[run["group"]][repeats[run["group"], run["engine"]]]
        repeats[run["group"], run["engine"]] += 1
        # A run without outputs is invalid, and has no percentiles.
        if run["records"] and base["records"]:
            pairs.setdefault((run["workload"], run["engine"]), []).append((run, base))
    return {
        case: {
            ratio: round(median_high(run[name] / base[name] for run, base in both), 3) for ratio, name in RATIOS.items()
        }
        for case, both in pairs.items()
    }


def equal_costs(runs: Sequence[Numbers], workload: str) -> list[float]:
    """Return the sorted CPU times of all runs of the untouched query with a workload."""
    equal = [run for run in runs if (run["workload"], run["engine"]) == (workload, UNTOUCHED)]
    return sorted(run["cpu_seconds_per_million"] for run in equal if run["records"])


def noise(runs: Sequence[Numbers], workload: str) -> float | None:
    """Return the relative difference of equal runs, or None for a single run."""
    costs = equal_costs(runs, workload)
    return costs[-1] / costs[0] - 1 if len(costs) > 1 else None


def is_within(case: Numbers, share: float | None) -> bool:
    """Return whether a change's CPU time differs by no more than equal runs do (the noise)."""
    return bool(share is not None and not is_untouched(case["engine"]) and abs(case["cpu_ratio"] - 1) <= share)
