"""Compare each change with the nearest run of the untouched query."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median_high
from typing import Any

Numbers = Mapping[str, Any]
UNTOUCHED = "untouched"
RATIOS = {"cpu_ratio": "cpu_seconds_per_million", "p50_ratio": "p50_ms", "p99_ratio": "p99_ms"}


def ratios(runs: Sequence[Numbers]) -> dict[tuple[str, str], dict[str, float]]:
    """
    Return the ratios of each change to the untouched query, keyed by workload and change.

    Each ratio is the median over the repeats. It compares two runs of the same group, because the machine's speed
    changes from hour to hour.
    """
    untouched: dict[int, list[Numbers]] = {}
    for run in (run for run in runs if run["engine"] == UNTOUCHED):
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
