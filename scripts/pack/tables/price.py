"""Render the JSON of `make bench-price` as Markdown tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.pack.tables.format import conditions, measured, median_and_tail, milliseconds, table

PRICE = "references/measured/price.json"
BENCHMARK = "bench-price"
UNTOUCHED, WARM = "untouched", ", warm"


def changes(root: Path, workload: str) -> str:
    """Return a table of the changes of one workload, the cheapest first, and the changes that were combined."""
    content = _published(root)
    cases = [case for case in content["cases"] if case["workload"] == workload]
    if not cases:
        known = sorted({case["workload"] for case in content["cases"]})
        raise ValueError(f"workload {workload!r} was not measured; use one of {', '.join(known)}")
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


def limits(root: Path, _: str) -> str:
    """Return a table with the latency at each rate of the search, or that the query fell behind."""
    content = _published(root)
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


def _published(root: Path) -> dict[str, Any]:
    content: dict[str, Any] = measured(root, PRICE, f"make {BENCHMARK} PUBLISH=1")
    return content


def _conditions(content: dict[str, Any]) -> str:
    clients = f"Kafka connector {content['conditions']['kafka_connector']}"
    unit = (
        "Latency is in ms, measured from scheduled send to receipt. "
        f"Rows named *warm* had {content['conditions']['long_warm_up_seconds']:g} s of warm-up. "
        "*Relative* compares with the nearest run of the untouched query, so compare changes by it."
    )
    return conditions(content, BENCHMARK, clients, unit)


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
