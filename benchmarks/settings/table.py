"""Render the JSON of `make bench-tuning` and `make bench-price` as Markdown tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.results.format import (
    LATENCY_UNIT,
    PERCENTILES,
    Block,
    conditions,
    factor,
    latencies,
    median_and_tail,
    milliseconds,
    of_workload,
    published,
    table,
)

UNTOUCHED, WARM = "untouched", ", warm"


def changes(root: Path, workload: str) -> str:
    """Return a table of the changes of one workload, the cheapest first, and the changes that were combined."""
    content = published(root, "price", "bench-price")
    cases = of_workload(content["cases"], workload)
    rows = [
        (
            *(case["engine"], f"{case['cpu_seconds_per_million']:,.0f}", f"{case['cpu_ratio']:.2f}x"),
            *(milliseconds(case[name]) for name in ("p50_ms", "p99_ms")),
            *(f"{case[name]:.2f}x" for name in ("p50_ratio", "p99_ratio")),
        )
        for case in sorted(cases, key=lambda case: case["cpu_ratio"])
    ]
    header = (
        f"{workload}: change",
        "CPU s per million records",
        "relative",
        "p50",
        "p99",
        "p50 relative",
        "p99 relative",
    )
    return f"{_conditions(content)}\n{table(header, rows)}\n{_noise(content, workload)}{_combined(content, workload)}"


def tuning(root: Path, _: str) -> str:
    """Return a table of `make bench-tuning`: each row changes one setting, and the others have recommended values."""
    content = published(root, "tuning", "bench-tuning")
    rows = []
    for case in content["cases"]:
        pause = (
            "-" if case["pause_median_ms"] is None else f"{case['pause_median_ms']:,.0f} / {case['pause_max_ms']:,.0f}"
        )
        setting, _, value = case["engine"].partition(" = ")
        name = f"`{setting}`" if "." in setting else setting
        spread = f"{milliseconds(case['p99_lowest_ms'])} / {milliseconds(case['p99_highest_ms'])}"
        rows.append((case["workload"], name, value, *latencies(case), spread, pause, f"{case['engine_cores']:.2f}"))
    header = ("workload", "changed setting", "value", *PERCENTILES)
    more = ("p99 of the runs: min / max", "longest wait at a boundary: median / max", "CPU cores of the engine")
    spreads = [case["p99_highest_ms"] / case["p99_lowest_ms"] for case in content["cases"]]
    note = f"The p99 values of two runs with the same settings differ by up to {factor(max(spreads))}.\n"
    return f"{conditions(content, 'bench-tuning', LATENCY_UNIT)}\n{table((*header, *more), rows)}\n{note}"


def limits(root: Path, _: str) -> str:
    """Return a table with the latency at each rate of the search, or that the query fell behind."""
    content = published(root, "price", "bench-price")
    names = [limit["engine"] for limit in content["limits"]]
    steps = {(step["rate"], step["engine"]): step for step in content["steps"]}
    rates = sorted({step["rate"] for step in content["steps"]})
    rows = [(f"{rate:,g}", *(_step(steps.get((rate, name))) for name in names)) for rate in rates]
    workload = content["limits"][0]["workload"]
    # Every run of the search has the short warm-up.
    return table((f"records/s, {workload}", *(name.removesuffix(WARM) for name in names)), rows)


def _step(step: Mapping[str, Any] | None) -> str:
    if step is None:
        return "-"
    return median_and_tail(step) if step["sustained"] else "fell behind"


def _conditions(content: dict[str, Any]) -> str:
    unit = (
        "Latency is in ms, measured from scheduled send to receipt. "
        f"Rows named *warm* had {content['conditions']['long_warm_up_seconds']:g} s of warm-up. "
        "*Relative* compares with the nearest run of the untouched query, so compare changes by it."
    )
    return conditions(content, "bench-price", unit)


def _noise(content: Mapping[str, Any], workload: str) -> str:
    """Return how much equal runs differ, if there are several."""
    costs = sorted(
        run["cpu_seconds_per_million"]
        for run in content["runs"]
        if (run["workload"], run["engine"]) == (workload, UNTOUCHED)
    )
    if len(costs) < 2:
        return ""
    return (
        f"{len(costs)} equal runs of the untouched query needed {costs[0]:,.0f} to {costs[-1]:,.0f} CPU s, so "
        f"differences below {costs[-1] / costs[0] - 1:.0%} show nothing.\n"
    )


def _combined(content: Mapping[str, Any], workload: str) -> str:
    names = content["combined"].get(workload, [])
    if not names:
        return ""
    return (
        f"Changes that helped, and were combined: {'; '.join(names)}. "
        f"If two of them change the same setting, the combined query has the later one.\n"
    )


BLOCKS: dict[str, Block] = {"measured-tuning": tuning, "measured-price": changes, "measured-price-limits": limits}
