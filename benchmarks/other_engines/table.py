"""Render the JSON of `make bench-other-engines` as Markdown tables and rankings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.results.format import (
    LATENCY_UNIT,
    PERCENTILES,
    Block,
    conditions,
    factor,
    latencies,
    milliseconds,
    of_workload,
    published,
    table,
)

COMMAND = "bench-other-engines"
INTERVAL_COMMAND, LIMITS_COMMAND = f"{COMMAND} BENCH=--long-interval", f"{COMMAND} BENCH=--limits"
# The JSON contains only the name of the mode.
LINGER_OPTION = "kafka.linger.ms"
COPIES = "real-time, two copies"
MODES = {"real-time": "real-time mode", COPIES: "real-time mode with two copies"}


def other_engines(root: Path, workload: str) -> str:
    """Return a table for workload `stateless` or `stateful`: the baseline, then each engine."""
    content = published(root, "other_engines", COMMAND)
    cases = of_workload(content["cases"], workload)
    header = (f"{workload}: engine", "records/s", *PERCENTILES, "p50 / baseline")
    text = table((*header, "batch boundaries", "CPU cores of the engine"), [_row(case) for case in cases])
    return f"{_conditions(content, COMMAND, LATENCY_UNIT)}\n{text}"


def ranks(root: Path, _: str) -> str:
    """Return a list that ranks the engines by p50 and by p99 latency, without and with state."""
    cases, lines = published(root, "other_engines", COMMAND)["cases"], []
    cases = [case for case in cases if case["rate"] == cases[0]["rate"]]
    for name in ("p50", "p99"):
        for workload, state in (("stateless", "without state"), ("stateful", "with state")):
            own = sorted((case[f"{name}_ms"], case["engine"]) for case in cases if case["workload"] == workload)
            order = ", ".join(f"{MODES.get(engine, engine)} {milliseconds(value)}" for value, engine in own)
            lines.append(f"- {name} in ms {state}: {order}\n")
    return "".join(lines)


def spread(root: Path, _: str) -> str:
    """Return sentences about how often each engine committed and how much its runs differ."""
    content = published(root, "other_engines", COMMAND)
    known = content["conditions"]
    lines = [f"All engines commit every {known['interval_seconds']:g} s."]
    waits = [settings["sink"][LINGER_OPTION] for label, settings in content["settings"].items() if COPIES in label]
    lines += [
        f"Two copies wait up to {ms} ms for more rows in the shuffle, at the source and at the sink."
        for ms in waits
        if int(ms) > 1
    ]
    rule = (
        f"Each engine ran {known['repeats']} times, and each repeat began with a different engine. Each ratio to the "
        "baseline compares two runs of the same repeat; the table shows the median, lowest and highest ratios. The "
        "other numbers are medians of the runs, and `batch boundaries` is their total. Engines with the same printed "
        "value are not ranked."
    )
    return "\n".join([*lines, rule, ""])


def long_interval(root: Path, _: str) -> str:
    """Return a table of the engines with state at a commit interval of minutes."""
    content = published(root, "other_engines_interval", INTERVAL_COMMAND)
    seconds = content["conditions"]["interval_seconds"]
    rows = []
    for case, run in zip(content["cases"], content["runs"], strict=True):
        pause, share = "-", "-"
        if case["boundaries"]:
            pause = f"{milliseconds(case['pause_median_ms'])} / {milliseconds(case['pause_max_ms'])}"
            share = f"{sum(run['pauses_ms']) / 10 / (case['boundaries'] * seconds):.2f}%"
        name = _name(case["engine"])
        count = str(case["boundaries"] or "-")
        rows.append((name, *latencies(case), factor(case["times_baseline"]), count, pause, share))
    header = (f"commit every {seconds:g} s: engine", *PERCENTILES, "p50 / baseline", "batch boundaries")
    text = table((*header, "longest wait at a boundary: median / max", "records due during a pause"), rows)
    note = "Each engine ran once, one after another. The baseline, which commits nothing, ran for a minute.\n"
    return f"{_conditions(content, INTERVAL_COMMAND, LATENCY_UNIT)}\n{text}\n{note}"


def limits(root: Path, _: str) -> str:
    """Return a table of the highest rate that each engine sustains."""
    content = published(root, "other_engines_limits", LIMITS_COMMAND)
    cells: dict[str, dict[str, str]] = {}
    for limit in content["limits"]:
        engine, workload = limit["engine"], limit["workload"]
        steps = [step for step in content["steps"] if (step["engine"], step["workload"]) == (engine, workload)]
        # If an engine sustained every rate that was tried, its limit may be above the highest of these rates.
        bound = "at least " if all(step["sustained"] for step in steps) else ""
        [p50_ms] = {step["p50_ms"] for step in steps if step["rate"] == limit["sustained_rate"]}
        cells.setdefault(engine, {})[workload] = f"{bound}{limit['sustained_rate']:,g} ({milliseconds(p50_ms)} ms)"
    workloads = list(dict.fromkeys(limit["workload"] for limit in content["limits"]))
    rows = [(_name(engine), *(own.get(workload, "-") for workload in workloads)) for engine, own in cells.items()]
    rates = _list([f"{rate:,g}" for rate in content["conditions"]["rates"]])
    unit = (
        f"The search tries the rates {rates} records/s in ascending order until the engine does not sustain a rate. "
        "The last rate that it tries is midway between this rate and the last sustained rate."
    )
    header = ("engine", *(f"{workload}: max. sustained records/s (p50 at this rate)" for workload in workloads))
    return f"{_conditions(content, LIMITS_COMMAND, unit)}\n{table(header, rows)}"


def _row(case: Mapping[str, Any]) -> tuple[str, ...]:
    ratio, lowest, highest = (factor(case[f"times_baseline{end}"]) for end in ("", "_lowest", "_highest"))
    return (
        *(_name(case["engine"]), f"{case['rate']:,g}", *latencies(case)),
        f"{ratio} ({lowest} to {highest})",
        *(str(case["boundaries"] or "-"), f"{case['engine_cores']:.2f}"),
    )


def _name(engine: str) -> str:
    return f"Spark, {MODES[engine]}" if engine in MODES else engine


def _list(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _conditions(content: dict[str, Any], command: str, unit: str) -> str:
    versions = ", ".join(f"{engine['engine']} {_version(engine)}" for engine in content["other_engines"])
    return conditions(content, command, unit, versions)


def _version(engine: dict[str, Any]) -> str:
    first: str = engine["packages"].split(", ")[0]
    return first.replace("==", ":").rpartition(":")[2]


BLOCKS: dict[str, Block] = {
    "measured-other-engines": other_engines,
    "measured-other-engines-ranks": ranks,
    "measured-other-engines-spread": spread,
    "measured-other-engines-interval": long_interval,
    "measured-other-engines-limits": limits,
}
