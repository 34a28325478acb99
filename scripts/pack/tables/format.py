"""Format numbers, conditions and Markdown tables for every generated benchmark table."""

from collections.abc import Mapping, Sequence
from typing import Any

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
