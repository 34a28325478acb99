"""Compare the published measurements with the aims for real-time mode on two cores, reached or not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.pack.tables import boundary, other_engines, price
from scripts.pack.tables.format import measured, median_and_tail, milliseconds, table

RATE = 1_000
MAX_PAUSE_MS = 80
MAX_P999_MS = 100
MIN_RATE = 10_000
MAX_CPU_SECONDS = 400
COPIED = "references/measured/commands.json"
"""What commands printed that publish no measurement of their own, copied by hand."""
HEADER = ("aim", "measured", "reached", "runs", "command", "date")


def aims(root: Path, _: str) -> str:
    """Return a table with one row per aim."""
    copied = measured(root, COPIED, "the commands of references/aims.md")["rows"]
    rows = [tuple(str(row[column]) for column in HEADER) for row in copied]
    return table(HEADER, [_pause(root), _tail(root), _price(root), _rate(root), *rows])


def _pause(root: Path) -> tuple[str, ...]:
    content = measured(root, boundary.BOUNDARY, f"make {boundary.BENCHMARK} PUBLISH=1")
    known, *changed = content["cases"]
    others = "".join(f"; *{case['engine']}*: {_waits(case)}" for case in changed)
    text = f"{_waits(known)} of {known['boundaries']} boundaries{others}"
    is_reached = known["wait_max_ms"] <= MAX_PAUSE_MS
    aim = f"the slowest record of a batch boundary waits at most {MAX_PAUSE_MS} ms"
    return _row(content, boundary.BENCHMARK, aim, text, is_reached=is_reached)


def _waits(case: Mapping[str, Any]) -> str:
    return f"{case['wait_mean_ms']:.0f} ms on average, {case['wait_max_ms']:.0f} at most"


def _tail(root: Path) -> tuple[str, ...]:
    content = measured(root, other_engines.OTHER_ENGINES, f"make {other_engines.BENCHMARK} PUBLISH=1")
    values = sorted(run["p99.9_ms"] for run in content["runs"] if _is_real_time(run))
    case = next(filter(_is_real_time, content["cases"]))
    below = sum(value < MAX_P999_MS for value in values)
    spread = f"{milliseconds(values[0])} to {milliseconds(values[-1])}; {below} of {len(values)} runs below the aim"
    aim = (
        f"the median p99.9 of one copy is below {MAX_P999_MS} ms at {RATE:,} records/s and a trigger interval of "
        f"{content['conditions']['interval_seconds']:g} s"
    )
    text = f"{milliseconds(case['p99.9_ms'])} ms ({spread})"
    return _row(content, other_engines.BENCHMARK, aim, text, is_reached=case["p99.9_ms"] < MAX_P999_MS)


def _price(root: Path) -> tuple[str, ...]:
    content = measured(root, price.PRICE, f"make {price.BENCHMARK} PUBLISH=1")
    costs = {
        case["engine"]: case["cpu_seconds_per_million"] for case in content["cases"] if case["workload"] == "stateful"
    }
    cheapest = min(costs, key=lambda engine: costs[engine])
    aim = f"a million records cost less than {MAX_CPU_SECONDS} CPU s at {RATE:,} records/s"
    text = f"{costs[cheapest]:,.0f} CPU s with *{cheapest}*"
    return _row(content, price.BENCHMARK, aim, text, is_reached=costs[cheapest] < MAX_CPU_SECONDS)


def _rate(root: Path) -> tuple[str, ...]:
    content = measured(root, price.PRICE, f"make {price.BENCHMARK} PUBLISH=1")
    ordered = sorted(content["limits"], key=lambda limit: -limit["sustained_rate"])
    best = ordered[0]
    text = "; ".join(_limit(content, limit) for limit in ordered)
    aim = f"one machine sustains at least {MIN_RATE:,} records/s"
    return _row(content, price.BENCHMARK, aim, text, is_reached=best["sustained_rate"] >= MIN_RATE)


def _limit(content: Mapping[str, Any], limit: Mapping[str, Any]) -> str:
    engine, rate = limit["engine"], limit["sustained_rate"]
    [step] = [step for step in content["steps"] if (step["engine"], step["rate"]) == (engine, rate)]
    return f"{rate:,g} records/s with *{engine.removesuffix(price.WARM)}* ({median_and_tail(step)})"


def _is_real_time(row: Mapping[str, Any]) -> bool:
    return (row["workload"], row["engine"]) == ("stateful", "real-time")


def _row(content: Mapping[str, Any], command: str, aim: str, text: str, *, is_reached: bool) -> tuple[str, ...]:
    known = content["conditions"]
    reached = "yes" if is_reached else "no"
    return aim, text, reached, str(known["repeats"]), f"`make {command} PUBLISH=1`", known["date"]
