"""Render the JSON of `make bench-throughput` as a Markdown table and sentences."""

from pathlib import Path
from typing import Any

from benchmarks.results.format import Block, conditions, factor, milliseconds, published, table

COMMAND = "bench-throughput"


def throughput(root: Path, _: str) -> str:
    """Return a table of each mode's sustained rate, with latency and CPU cost at fractions of that rate."""
    content = published(root, "throughput", COMMAND)
    percents = content["conditions"]["load_percents"]
    rows = []
    for limit in content["limits"]:
        shares, steps = (_of_limit(content[name], limit) for name in ("cases", "steps"))
        by_rate = sorted(shares, key=lambda case: float(case["rate"]))
        costs_by_rate = [
            f"{milliseconds(case['p50_ms'])} / {milliseconds(case['p99_ms'])} / {case['cpu_seconds_per_million']:,.0f}"
            for case in by_rate
        ]
        # If a mode sustains no rate, there are no measurements at fractions of its limit.
        costs_by_rate += ["-"] * (len(percents) - len(costs_by_rate))
        # If a mode sustained every rate that was tried, its limit may be above the highest of these rates.
        bound = "" if any(not step["sustained"] for step in steps) else "at least "
        rows.append((f"{limit['workload']}, {limit['engine']}", f"{bound}{limit['sustained_rate']:,g}", *costs_by_rate))
    header = (
        "workload, mode",
        "max. sustained records/s",
        *(f"at {percent:g}% of that rate" for percent in percents),
    )
    unit = "Each cell shows p50 in ms / p99 in ms / CPU s per million records."
    return f"{conditions(content, COMMAND, unit)}\n{table(header, rows)}"


def limits(root: Path, _: str) -> str:
    """Return two sentences per workload: the sustained rates of the modes, and the ratio of their p50."""
    content = published(root, "throughput", COMMAND)
    rates = {(limit["workload"], limit["engine"]): limit["sustained_rate"] for limit in content["limits"]}
    lines = []
    for workload in ("stateless", "stateful"):
        real_time, micro_batch = ({"workload": workload, "engine": name} for name in ("real-time", "micro-batch"))
        rate, other_rate = (rates[limit["workload"], limit["engine"]] for limit in (real_time, micro_batch))
        pairs = zip(*(_of_limit(content["cases"], limit) for limit in (micro_batch, real_time)), strict=True)
        slower = [other["p50_ms"] / one["p50_ms"] for other, one in pairs]
        lines.append(
            f"With the {workload} workload, real-time mode sustains {rate:,g} records/s, and micro-batch mode "
            f"sustains {other_rate:,g} records/s.\nIf both modes run at the same fraction of their limits, "
            f"p50 in micro-batch mode is {_times(min(slower))} to {_times(max(slower))} times that in real-time mode.\n"
        )
    return "".join(lines)


def _of_limit(rows: list[dict[str, Any]], limit: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in rows if (row["workload"], row["engine"]) == (limit["workload"], limit["engine"])]


def _times(ratio: float) -> str:
    return factor(ratio).removesuffix("x")


BLOCKS: dict[str, Block] = {"measured-throughput": throughput, "measured-limits": limits}
