"""Render the JSON of `make bench-growth` as tables and an estimate."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.results.format import Block, machine_of, measured, milliseconds, table
from spark_rtm.commands.capacity import COMMAND, Capacity, Demand, capacity, highest_rate_per_partition

MEASURED = "references/measured/growth.json"

RATES = (1_000, 10_000, 100_000, 1_000_000)
MAX_RATE = 1e9
UNITS = {"busy_cores": "busy cores", "memory_mb": "memory, MB", "state_mb": "state store, MB", "pause_ms": "pause, ms"}
HEADER = (
    *("run", "CPU s per million records", "busy cores", "memory, MB", "state store in memory / on disk, MB"),
    *("pause, ms", "p50 / p99, ms"),
)


LIMITS: dict[str, Callable[[Capacity, Demand], bool]] = {
    "more than one source partition is needed": lambda needed, _: needed.partitions > 1,
    "one core is fully busy": lambda needed, _: needed.busy_cores > 1,
    "64 cores are fully busy": lambda needed, _: needed.busy_cores > 64,
    "the pause is longer than 10% of the trigger interval": (
        lambda needed, demand: needed.pause_ms > 100 * demand.interval_seconds
    ),
}
"""Limits that are reached as the rate grows, each with its condition."""


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


def million(root: Path, _: str) -> str:
    """Return a table of the resources at rates up to a million records per second, and a table of the limits."""
    content = measured(root, MEASURED, COMMAND)
    of_base = {name: content["base"][name] for name in ("rate", "record_bytes", "keys", "state_keys")}
    base = Demand(**of_base, interval_seconds=content["conditions"]["interval_seconds"])
    rows = []
    for rate in RATES:
        needed = capacity(content, replace(base, rate=rate))
        counts = (f"{value:,}" for value in (rate, needed.partitions, needed.slots))
        sizes = (f"{needed.busy_cores:,.1f}", f"{needed.memory_mb / 1024:,.1f}", f"{needed.pause_ms / 1000:,.2f}")
        rows.append((*counts, *sizes, f"{needed.replay_records:,.0f}", "no" if needed.outside else "yes"))
    reached = sorted((at, name) for name in LIMITS if (at := reached_at(content, base, name)))
    header = ("records/s", "partitions", "slots", "busy cores", "memory, GB", "pause, s", "replay", "in the range")
    intro = (
        f"Computed from the cost model with at most {highest_rate_per_partition(content):,g} records/s per source "
        f"partition, {base.record_bytes:g} bytes per record, {base.keys:,g} keys and a trigger interval of "
        f'{base.interval_seconds:g} s. Rows with "no" in the last column are beyond the range of the fitted runs.\n'
    )
    limits = [(_rate(at), name) for at, name in reached]
    return "\n".join([intro, table(header, rows), table(("reached at records/s", "limit"), limits)])


def reached_at(content: Mapping[str, Any], base: Demand, limit: str) -> float | None:
    """Return the rate, within one percent, at which a limit is reached, or None if it is above `MAX_RATE`."""
    low, high = 1.0, MAX_RATE

    def is_reached(rate: float) -> bool:
        demand = replace(base, rate=rate)
        return LIMITS[limit](capacity(content, demand), demand)

    if not is_reached(high):
        return None
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return high


def _rate(rate: float) -> str:
    return f"{float(f'{rate:.2g}'):,.0f}"


def _optional(value: float | None) -> str:
    return "-" if value is None else milliseconds(value)


BLOCKS: dict[str, Block] = {
    "measured-growth": points,
    "measured-growth-conditions": conditions,
    "measured-growth-model": model,
    "measured-growth-million": million,
}
