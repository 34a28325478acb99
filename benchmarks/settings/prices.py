"""Compare the CPU time and the latency of changed queries with those of the untouched query."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.results.run_result import RunResult
from spark_rtm.measure.percentiles import median_of_runs

UNTOUCHED, WARM_UNTOUCHED = "untouched", "untouched, warm"
MAX_HELPFUL_RATIO = 0.97
"""A change helps if it lowers the CPU time by at least 3%; smaller differences are noise."""
MAX_P50_MS = 20.0
"""Highest median latency of a change that helps."""
Numbers = Mapping[str, Any]
COMPARED = {"cpu_ratio": "cpu_seconds_per_million", "p50_ratio": "p50_ms", "p99_ratio": "p99_ms"}


def is_untouched(engine: str) -> bool:
    """Return whether a case is the query that the changes are compared with."""
    return engine in {UNTOUCHED, WARM_UNTOUCHED}


def summarize_prices(results: Sequence[tuple[RunResult, int]]) -> list[dict[str, Any]]:
    """
    Return one row per workload and change, from runs and their groups.

    Each ratio is the median over the repeats, and compares two runs of the same group and repeat. The speed of the
    machine changes from hour to hour, so runs of different groups are not comparable.
    """
    by_case: dict[tuple[str, str], list[tuple[Numbers, Numbers]]] = {}
    untouched: dict[int, list[Numbers]] = {}
    repeats: Counter[tuple[int, str]] = Counter()
    for result, group in results:
        if is_untouched(result.numbers["engine"]):
            untouched.setdefault(group, []).append(result.numbers)
    for result, group in results:
        numbers = result.numbers
        base = untouched[group][repeats[group, numbers["engine"]]]
        repeats[group, numbers["engine"]] += 1
        # A run without outputs is invalid, and has no percentiles.
        if numbers["records"] and base["records"]:
            by_case.setdefault((numbers["workload"], numbers["engine"]), []).append((numbers, base))
    return [
        {
            "workload": workload,
            "engine": engine,
            "runs": len(pairs),
            **{name: median_of_runs(one[name] for one, _ in pairs) for name in COMPARED.values()},
            **{
                ratio: round(median_of_runs(one[name] / base[name] for one, base in pairs), 3)
                for ratio, name in COMPARED.items()
            },
        }
        for (workload, engine), pairs in by_case.items()
    ]


def helpful(cases: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the changes that cost less CPU time at an acceptable median latency, the most helpful change last."""
    chosen = [
        case
        for case in cases
        if not is_untouched(case["engine"]) and case["cpu_ratio"] <= MAX_HELPFUL_RATIO and case["p50_ms"] <= MAX_P50_MS
    ]
    # If two changes set the same option, the last one wins.
    return [case["engine"] for case in sorted(chosen, key=lambda case: -case["cpu_ratio"])]
