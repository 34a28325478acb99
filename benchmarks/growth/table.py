"""Render the JSON of `make bench-growth` as tables and an estimate."""

import re
from pathlib import Path

from benchmarks.results.format import Block, machine_of, measured, milliseconds, table
from spark_rtm.commands.capacity import COMMAND

MEASURED = "references/measured/growth.json"

UNITS = {"busy_cores": "busy cores", "memory_mb": "memory, MB", "state_mb": "state store, MB", "pause_ms": "pause, ms"}
HEADER = (
    *("run", "CPU s per million records", "busy cores", "memory, MB", "state store in memory / on disk, MB"),
    *("pause, ms", "p50 / p99, ms"),
)


def points(root: Path, dimensions: str) -> str:
    """Return the table of the given dimensions. The first row is the base."""
    content = measured(root, MEASURED, COMMAND)
    rows = [row for name in dimensions.split() for row in content["runs"] if row["dimension"] == name]
    bases = [row for row in content["runs"] if row["dimension"] == "base"]
    cells = [
        (
            row["label"].removeprefix(f"{row['dimension']}: ") + ("" if row["kept_up"] else " (fell behind)"),
            f"{row['cpu_seconds_per_million'] or 0:,.0f}",
            f"{row['busy_cores']:.2f}",
            f"{row['memory_mb']:,}",
            " / ".join(_optional(row[name]) for name in ("state_mb", "state_disk_mb")),
            _optional(row["pause_ms"]),
            " / ".join(_optional(row[name]) for name in ("p50_ms", "p99_ms")),
        )
        for row in [*bases, *rows]
    ]
    return table(HEADER, cells)


def conditions(root: Path, _: str) -> str:
    """Return sentences about when, where and how the runs were measured."""
    content = measured(root, MEASURED, COMMAND)
    known, base = content["conditions"], content["base"]
    runs = content["runs"]
    load = (
        f"Base: {base['rate']:,} records/s, {base['partitions']} partitions, {base['keys']:,} keys, "
        f"{base['record_bytes']} bytes per record, {base['queries']} query, {base['cores']} cores, "
        f"trigger interval {known['interval_seconds']:g} s."
    )
    times = (
        f"Runs: {len(runs)}, each with {known['warm_up_seconds']:g} s of warm-up and "
        f"{known['duration_seconds']:g} s of measurement."
    )
    foreign = f"Other programs used at most {max(row['foreign_cores'] for row in runs):.2f} cores."
    used = " and ".join(f"{row['busy_cores']:.2f}" for row in runs if row["dimension"] == "base")
    noise = f"The first and last run have the same inputs, but used {used} cores, so smaller differences may be noise."
    measured_on = f"Measured with `{COMMAND}` on {known['date']}."
    return " ".join([measured_on, machine_of(known), load, times, foreign, noise]) + "\n"


def model(root: Path, _: str) -> str:
    """Return the range of the cost model and a table of its errors on other points."""
    content = measured(root, MEASURED, COMMAND)
    errors = [
        (UNITS[row["quantity"]], str(row["points"]), f"{row['median_error']:.0%}", f"{row['max_error']:.0%}")
        for row in content["errors"]
    ]
    ranges = "; ".join(f"`{row['input']}` {row['lowest']:,.10g} to {row['highest']:,.10g}" for row in content["ranges"])
    in_terms = {name for row in content["model"] for name in re.findall(r"\w+", row["term"])}
    unused = ", ".join(f"`{row['input']}`" for row in content["ranges"] if row["input"] not in in_terms)
    without_term = f" No term depends on {unused}: the fit found no cost that grows with this input." if unused else ""
    return "\n".join(
        [
            f"Range of the fitted runs: {ranges}.{without_term}\n",
            table(("quantity", "points not used for the fit", "median error", "largest error"), errors),
        ]
    )


def _optional(value: float | None) -> str:
    return "-" if value is None else milliseconds(value)


BLOCKS: dict[str, Block] = {
    "measured-growth": points,
    "measured-growth-conditions": conditions,
    "measured-growth-model": model,
}
