"""Render the published JSON of `make bench-postgres-sink` as Markdown tables."""

import json
from pathlib import Path
from typing import Any

from scripts.pack.tables.format import table

SINK = "references/measured/postgres_sink.json"


def sink(root: Path, _: str) -> str:
    """Return the published results of `make bench-postgres-sink`: flush ratios, paths from Kafka, a lone row."""
    content: dict[str, Any] = json.loads((root / SINK).read_text(encoding="utf-8"))
    known = content["conditions"]
    before, after = known["load_average_before_and_after"]
    sentence = (
        f"`make bench-postgres-sink KEEP=1 EFFORT={known['effort']:g}`, {known['date']}: {known['cores']} cores, "
        f"load average {before} before and {after} after, "
        f"PostgreSQL {known['postgresql']}, psycopg {known['psycopg']}.\n"
    )
    lone = _lone_row(content["lone_row_visible_ms"])
    return "\n".join([sentence, _ratios(content["flushes"]), _paths(content["paths"]), lone])


def _ratios(cells: list[dict[str, Any]]) -> str:
    cold = [cell for cell in cells if cell["keys"] == "cold"]
    places = list(dict.fromkeys((cell["network"], cell["rows"]) for cell in cold))
    named = [f"{rows:,}" if network == "local" else f"{rows:,}, {network}" for network, rows in places]
    ratios = {(cell["method"], cell["network"], cell["rows"]): f"{cell['times_executemany']:.2f}" for cell in cold}
    methods = [name for name in dict.fromkeys(cell["method"] for cell in cold) if name != "executemany"]
    rows = [(name, *(ratios.get((name, *place), "-") for place in places)) for name in methods]
    return table(("times as fast as `executemany`, cold keys, rows per flush", *named), rows)


def _paths(paths: list[dict[str, Any]]) -> str:
    rates = list(dict.fromkeys(path["rate"] for path in paths))
    cells = {(path["path"], path["rate"]): f"{path['p50_ms']:,g} / {path['p99_ms']:,g}" for path in paths}
    rows = [(way, *(cells.get((way, rate), "-") for rate in rates)) for way in dict.fromkeys(p["path"] for p in paths)]
    return table(("append in Kafka to commit, ms: p50 / p99", *(f"{rate:g} results/s" for rate in rates)), rows)


def _lone_row(lone: dict[str, float]) -> str:
    return (
        f"A lone row was visible to another connection after {lone['p50']} ms (p50), {lone['p99']} ms (p99), "
        f"{lone['max']} ms (max), with `linger_ms` 2.\n"
    )
