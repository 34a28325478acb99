"""
Turn the JSON of a benchmark into the tables that a page shows, so that no number is typed twice.

The root folder arrives; Markdown leaves. The files are written by the commands named beside each table.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SINK = "references/measured/postgres_sink.json"
PERCENTILES = ("p50", "p90", "p99", "p99.9", "max")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; bars inside cells are escaped."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def milliseconds(value: float) -> str:
    """Return a time with two digits or more, so that rows of a table can be compared at a glance."""
    # 9.96 would be rounded to 10.0.
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def latencies(cell: Mapping[str, Any]) -> list[str]:
    """Return the percentiles of a cell as a table shows them."""
    return [milliseconds(cell[f"{name}_ms"]) for name in PERCENTILES]


def conditions(content: Mapping[str, Any], command: str, clients: str) -> str:
    """Return the sentence above a table: which command, when, on what, how long; `clients` are those of the broker."""
    known = content["conditions"]
    java = " ".join(filter(None, (known["java"], known["java_options"])))
    rate = f", {known['rate']:,g} records/s" if "rate" in known else ""
    foreign = [run["foreign_cores"] for run in content["runs"] if "foreign_cores" in run]
    others = f"; other programs took at most {max(foreign):.2f} cores" if foreign else ""
    again = len(content.get("late", ()))
    others += f"; runs done again because records were sent late: {again}" if again else ""
    return (
        f"`make {command} KEEP=1`, {known['date']}: {known['cores']} cores, Java {java}, PySpark {known['pyspark']}, "
        f"{clients}, broker {known['kafka_broker_and_clients']}, {known['partitions']} partitions{rate}, "
        f"trigger interval {known['interval_seconds']:g} s, {known['measured_seconds']:g} s measured after "
        f"{known['warm_up_seconds']:g} s, runs of each: {known['repeats']}{others}.\n"
    )


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
