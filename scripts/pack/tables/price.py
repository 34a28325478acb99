"""Render the JSON of `make bench-price` as Markdown tables; before the first publication, the blocks are empty."""

from pathlib import Path
from typing import Any

from scripts.pack.tables.format import conditions, measured_or_none, milliseconds, table

PRICE = "references/measured/price.json"
BENCHMARK = "bench-price"


def changes(root: Path, workload: str) -> str:
    """Return a table of the changes of one workload, the cheapest first, or an empty text."""
    if not (content := measured_or_none(root, PRICE)):
        return ""
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
    return f"{_conditions(content)}\n{table(header, rows)}{_combined(content, workload)}"


def limits(root: Path, _: str) -> str:
    """Return a sentence per case with its highest sustained rate, or an empty text."""
    if not (content := measured_or_none(root, PRICE)):
        return ""
    lines = []
    for limit in content["limits"]:
        steps = [step for step in content["steps"] if step["engine"] == limit["engine"]]
        bound = "" if any(not step["sustained"] for step in steps) else "at least "
        lines.append(
            f"The {limit['workload']} query with the changes *{limit['engine']}* sustains {bound}"
            f"{limit['sustained_rate']:,g} records/s.\n"
        )
    return "".join(lines)


def chart(root: Path, _: str) -> str:
    """Return the chart of all changes, or an empty text."""
    return "![CPU time of each change](measured/price.svg)\n" if measured_or_none(root, PRICE) else ""


def _conditions(content: dict[str, Any]) -> str:
    clients = f"Kafka connector {content['conditions']['kafka_connector']}"
    unit = (
        "Latency is in ms, measured from scheduled send to receipt. "
        "*Relative* compares with the runs of the untouched query next to it."
    )
    return conditions(content, BENCHMARK, clients, unit)


def _combined(content: dict[str, Any], workload: str) -> str:
    names = content["combined"].get(workload, [])
    return f"\nChanges that helped, and were combined: {', '.join(names)}.\n" if names else ""
