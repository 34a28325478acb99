"""
Render the JSON of `make bench-settings`, and of two earlier benchmarks, as Markdown tables.

The argument of a generated part names the JSON. The published runs of the earlier benchmarks name their own commands.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median_high
from typing import Any

from benchmarks.results.format import (
    LATENCY_UNIT,
    Block,
    conditions,
    factor,
    median_and_tail,
    milliseconds,
    of_workload,
    published,
    table,
)

UNTOUCHED = "untouched"
WARM_UNTOUCHED = "untouched, warm"
"""The untouched query after a longer warm-up, in the published runs of `make bench-price`."""
RATIOS = {"cpu_ratio": "cpu_seconds_per_million", "p50_ratio": "p50_ms", "p99_ratio": "p99_ms"}

Numbers = Mapping[str, Any]
COMMAND = "bench-settings"
WARM = ", warm"
COLUMNS = {
    "cpu_seconds_per_million": ("CPU s per million records", "{:,.0f}".format),
    "cpu_ratio": ("relative", "{:.2f}x".format),
    "engine_cores": ("busy cores", "{:.2f}".format),
    "p50_ms": ("p50", milliseconds),
    "p99_ms": ("p99", milliseconds),
    "p99.9_ms": ("p99.9", milliseconds),
    "p50_ratio": ("p50 relative", "{:.2f}x".format),
    "p99_ratio": ("p99 relative", "{:.2f}x".format),
}
"""Title and format of a change's columns, by JSON field. Columns without values are omitted."""


def is_untouched(engine: str) -> bool:
    """Return whether a case is the untouched query."""
    return engine in {UNTOUCHED, WARM_UNTOUCHED}


def ratios(runs: Sequence[Numbers]) -> dict[tuple[str, str], dict[str, float]]:
    """
    Return the ratios of each change to the untouched query, keyed by workload and change.

    Each ratio is the median over the repeats. It compares two runs of the same group, because the machine's speed
    changes from hour to hour.
    """
    untouched: dict[int, list[Numbers]] = {}
    for run in filter(lambda run: is_untouched(run["engine"]), runs):
        untouched.setdefault(run["group"], []).append(run)
    repeats: Counter[tuple[int, str]] = Counter()
    pairs: dict[tuple[str, str], list[tuple[Numbers, Numbers]]] = {}
    for run in runs:
        base = untouched[run["group"]][repeats[run["group"], run["engine"]]]
        repeats[run["group"], run["engine"]] += 1
        # A run without outputs is invalid, and has no percentiles.
        if run["records"] and base["records"]:
            pairs.setdefault((run["workload"], run["engine"]), []).append((run, base))
    return {
        case: {
            ratio: round(median_high(run[name] / base[name] for run, base in both), 3) for ratio, name in RATIOS.items()
        }
        for case, both in pairs.items()
    }


def equal_costs(runs: Sequence[Numbers], workload: str) -> list[float]:
    """Return the sorted CPU seconds per million records of all runs of a workload's untouched query."""
    equal = [run for run in runs if (run["workload"], run["engine"]) == (workload, UNTOUCHED)]
    return sorted(run["cpu_seconds_per_million"] for run in equal if run["records"])


def noise(runs: Sequence[Numbers], workload: str) -> float:
    """Return the relative difference between identical runs. Each workload has at least two."""
    costs = equal_costs(runs, workload)
    return float(costs[-1] / costs[0] - 1)


def is_within(case: Numbers, share: float) -> bool:
    """Return whether a change affects CPU time by at most `share`, the difference between identical runs."""
    return bool(not is_untouched(case["engine"]) and abs(case["cpu_ratio"] - 1) <= share)


def changes(root: Path, argument: str) -> str:
    """Return a table of changes whose effect exceeds the noise, the cheapest first."""
    stem, _, workload = argument.partition(" ")
    content = published(root, stem, COMMAND)
    cases = sorted(of_workload(content["cases"], workload), key=lambda case: float(case["cpu_ratio"]))
    share = noise(content["runs"], workload)
    shown = [case for case in cases if not is_within(case, share)]
    columns = {name: column for name, column in COLUMNS.items() if name in cases[0]}
    rows = [(case["engine"], *(text(case[name]) for name, (_, text) in columns.items())) for case in shown]
    header = (f"{workload}: change", *(title for title, _ in columns.values()))
    names, within = content.get("combined", {}).get(workload, []), {c["engine"] for c in cases if is_within(c, share)}
    count = len(within & {*names})
    noise_part = f", {count} of them within the noise" if count else ""
    listed = "; ".join(f"`{name}`" for name in names)
    combined = f"The combined query has these changes{noise_part}: {listed}.\n" if names else ""
    return f"{_conditions(content)}\n{table(header, rows)}\n{_noise(content, workload, cases)}{combined}"


def tuning(root: Path, _: str) -> str:
    """Return a table of `make bench-tuning`, whose rows change one setting each."""
    content = published(root, "tuning", COMMAND)
    rows = []
    for case in content["cases"]:
        pause = (
            "-" if case["pause_median_ms"] is None else f"{case['pause_median_ms']:,.0f} / {case['pause_max_ms']:,.0f}"
        )
        setting, _, value = case["engine"].partition(" = ")
        name = f"`{setting}`" if "." in setting else setting
        spread = f"{milliseconds(case['p99_lowest_ms'])} / {milliseconds(case['p99_highest_ms'])}"
        p50 = milliseconds(case["p50_ms"])
        rows.append((case["workload"], name, value, p50, spread, pause, f"{case['engine_cores']:.2f}"))
    header = ("workload", "changed setting", "value", "p50")
    more = ("p99 of the runs: min / max", "longest wait at a boundary: median / max", "CPU cores of the engine")
    spreads = [case["p99_highest_ms"] / case["p99_lowest_ms"] for case in content["cases"]]
    note = f"The p99 values of two runs with the same settings differ by up to {factor(max(spreads))}.\n"
    text = conditions(content, content["conditions"]["command"], LATENCY_UNIT)
    return f"{text}\n{table((*header, *more), rows)}\n{note}"


def limits(root: Path, stem: str) -> str:
    """Return a table with the latency at each rate of the search."""
    content = published(root, stem, COMMAND)
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
    known = content["conditions"]
    seconds = known.get("long_warm_up_seconds")
    warm = f" Rows named *warm* had {seconds:g} s of warm-up." if seconds else ""
    unit = (
        f"{LATENCY_UNIT}{warm} *Relative* compares with the nearest run of the untouched query, so use it to compare "
        "changes."
    )
    return conditions(content, known.get("command", COMMAND), unit)


def _noise(content: Mapping[str, Any], workload: str, cases: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence about how much identical runs differ, and a list of the changes within this noise."""
    costs, share = equal_costs(content["runs"], workload), noise(content["runs"], workload)
    names = [f"`{case['engine']}` ({case['cpu_ratio']:.2f}x)" for case in cases if is_within(case, share)]
    within = f" Changes within the noise: {'; '.join(names)}." if names else ""
    return (
        f"{len(costs)} identical runs of the untouched query used {costs[0]:,.0f} to {costs[-1]:,.0f} CPU s per "
        f"million records, so differences up to {share:.0%} are noise.{within}\n"
    )


BLOCKS: dict[str, Block] = {
    "measured-settings": changes,
    "measured-settings-limits": limits,
    "measured-tuning": tuning,
}
