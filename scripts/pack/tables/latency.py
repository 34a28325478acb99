"""
Render the JSON of the latency, tuning and throughput benchmarks as Markdown tables.

Numbers from the JSON are rounded but otherwise unchanged, so a reader can find each of them in the JSON.
The only computed numbers are three kinds of ratios: between one and two copies of the query, between the highest and
the lowest p99 of tuning runs, and between the p50 of both modes in throughput runs.
"""

from pathlib import Path
from typing import Any

from scripts.pack.tables.format import PERCENTILES, conditions, factor, latencies, measured, milliseconds, table

FOLDER = "references/measured"
LATENCY = "Latency is in ms, measured from scheduled send to receipt."
RATIOS = {
    "times_baseline": "p50 / baseline",
    "speedup_over_micro_batch": "p50 speed-up over micro-batch",
    "speedup_over_untuned": "p50 speed-up over micro-batch, untuned",
}
PHASES = {
    "latestOffset": "read latest offsets",
    "queryPlanning": "plan the query",
    "walCommit": "write offset log",
    "addBatch": "tasks, beyond the interval",
    "commitOffsets": "write commit log",
    "triggerExecution": "whole batch, beyond the interval",
    "state commit, all partitions": "commit state, sum of partitions",
    "state load, all partitions": "load state, sum of partitions",
}
WORKLOADS = (
    "Workloads: *stateless* decodes, validates and routes each record. *Stateful* aggregates the records of each "
    "transaction. *Two hops* runs both workloads as two queries with a topic in between. The *baseline* copies each "
    "record with a Kafka client, without an engine. *Untuned* rows use Spark's default settings.\n"
)


def modes(root: Path, workload: str) -> str:
    """Return a table of `make bench-latency` for workload `stateless` or `stateful`: the baseline, then each mode."""
    content = _content(root, "latency")
    rows = []
    for case in _cases(content, workload):
        in_engine = "-" if _is_baseline(case) else f"{case['engine_p50_ms']} / {case['engine_p99_ms']}"
        ratios = [factor(case[name]) for name in RATIOS]
        rows.append((_engine(case), *latencies(case), in_engine, *ratios, f"{case['cpu_seconds_per_million']:,.0f}"))
    header = (f"{workload}: mode", *PERCENTILES, "broker append to append, p50 / p99", *RATIOS.values())
    notes = [_conditions(content, "bench-latency", LATENCY), table((*header, "CPU s per million records"), rows)]
    merged = [case for case in _cases(content, workload) if case["outputs_per_record"] < 0.995]
    if merged:
        outputs = ", ".join(f"{case['outputs_per_record']:.2f} in *{_engine(case)}*" for case in merged)
        notes.append(
            f"One output can contain the result of several records. Outputs per record: {outputs}. "
            "The latency of a record is the time until the first output that contains its result is received.\n"
        )
    return "\n".join(notes)


def overview(root: Path, _: str) -> str:
    """Return one table of p50, p99 and maximum for all workloads and modes of `make bench-latency`."""
    content = _content(root, "latency")
    rows = [
        (
            *(case["workload"], _engine(case), *(milliseconds(case[f"{name}_ms"]) for name in ("p50", "p99", "max"))),
            *(factor(case[name]) for name in RATIOS),
        )
        for case in content["cases"]
    ]
    header = ("workload", "mode", "p50", "p99", "max", *RATIOS.values())
    return f"{_conditions(content, 'bench-latency', LATENCY)}\n{WORKLOADS}\n{table(header, rows)}"


def speed_up(root: Path, _: str) -> str:
    """Return a sentence per workload that compares single queries in both modes, for the top of the README."""
    cases = {(case["workload"], case["engine"]): case for case in _content(root, "latency")["cases"]}
    sentences = []
    for workload, name in (("stateless", "without state"), ("stateful", "with state")):
        fast, slow = cases[workload, "real-time"], cases[workload, "micro-batch"]
        ratio = factor(fast["speedup_over_micro_batch"]).removesuffix("x")
        sentences.append(
            f"On OSS 4.3.0, the median latency of a query {name} is {milliseconds(fast['p50_ms'])} ms in real-time "
            f"mode and {milliseconds(slow['p50_ms'])} ms in tuned micro-batch mode, {ratio} times as long."
        )
    return "\n".join(sentences) + " The factors are those of the unrounded latencies.\n"


def boundaries(root: Path, _: str) -> str:
    """Return a table of batch boundary durations by phase, for each real-time query of `make bench-latency`."""
    content = _content(root, "latency")
    cases = {(case["workload"], case["engine"]): case for case in content["cases"]}
    rows = []
    for phase in content["phases"]:
        case = cases[phase["workload"], phase["engine"]]
        pauses = (f"{case['boundaries']}", f"{case['pause_median_ms']:,.0f} / {case['pause_max_ms']:,.0f}")
        rows.append((f"{phase['workload']}, {phase['engine']}", *pauses, *(_phase(phase.get(name)) for name in PHASES)))
    header = ("workload, mode", "boundaries", "longest wait of a record: median / max", *PHASES.values())
    return f"{_conditions(content, 'bench-latency', 'Times are in ms.')}\n{table(header, rows)}"


def costs(root: Path, _: str) -> str:
    """Return a table of CPU seconds per million records, for each real-time query of `make bench-latency`."""
    content = _content(root, "latency")
    real_time = [case for case in content["cases"] if case["engine"].startswith("real-time")]
    rows = [(case["workload"], _engine(case), f"{case['cpu_seconds_per_million']:,.0f}") for case in real_time]
    header = ("workload", "mode", "CPU s per million records")
    return f"{_conditions(content, 'bench-latency')}\n{table(header, rows)}"


def two_copies(root: Path, _: str) -> str:
    """Return a table of p99.9 and maximum with one and two copies of the query, per repeat of `make bench-latency`."""
    content = _content(root, "latency")
    pairs = zip(_runs(content, "real-time"), _runs(content, "real-time, two copies"), strict=True)
    rows = [
        (
            str(number),
            *(milliseconds(run["p99.9_ms"]) for run in (one, two)),
            factor(one["p99.9_ms"] / two["p99.9_ms"]),
            *(milliseconds(run["max_ms"]) for run in (one, two)),
            factor(one["max_ms"] / two["max_ms"]),
        )
        for number, (one, two) in enumerate(pairs, 1)
    ]
    header = ("run", "p99.9 in ms, one copy", "p99.9 in ms, two copies", "ratio")
    maxima = ("max in ms, one copy", "max in ms, two copies", "ratio")
    [baseline] = [case for case in content["cases"] if _is_baseline(case)]
    note = f"For comparison, the baseline without an engine has a p99.9 of {milliseconds(baseline['p99.9_ms'])} ms.\n"
    return f"{_conditions(content, 'bench-latency')}\n{table((*header, *maxima), rows)}\n{note}"


def tuning(root: Path, _: str) -> str:
    """Return a table of `make bench-tuning`: each row changes one setting, and the others have recommended values."""
    content = _content(root, "tuning")
    rows = []
    for case in content["cases"]:
        pause = (
            "-" if case["pause_median_ms"] is None else f"{case['pause_median_ms']:,.0f} / {case['pause_max_ms']:,.0f}"
        )
        setting, _, value = case["engine"].partition(" = ")
        name = f"`{setting}`" if "." in setting else setting
        spread = f"{milliseconds(case['p99_lowest_ms'])} / {milliseconds(case['p99_highest_ms'])}"
        rows.append((case["workload"], name, value, *latencies(case), spread, pause, f"{case['engine_cores']:.2f}"))
    header = ("workload", "changed setting", "value", *PERCENTILES)
    more = ("p99 of the runs: min / max", "longest wait at a boundary: median / max", "CPU cores of the engine")
    spreads = [case["p99_highest_ms"] / case["p99_lowest_ms"] for case in content["cases"]]
    note = f"The p99 values of two runs with the same settings differ by up to {factor(max(spreads))}.\n"
    return f"{_conditions(content, 'bench-tuning', LATENCY)}\n{table((*header, *more), rows)}\n{note}"


def throughput(root: Path, _: str) -> str:
    """Return a table of the rate that each mode sustains, with latency and CPU cost at fractions of that rate."""
    content = _content(root, "throughput")
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
    return f"{_conditions(content, 'bench-throughput', unit)}\n{table(header, rows)}"


def limits(root: Path, _: str) -> str:
    """Return two sentences per workload: the rate that each mode sustains, and the ratio of their p50 latencies."""
    content = _content(root, "throughput")
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


def _content(root: Path, stem: str) -> dict[str, Any]:
    command = f"make bench-{stem.replace('_', '-')} PUBLISH=1"
    content: dict[str, Any] = measured(root, f"{FOLDER}/{stem}.json", command)
    return content


def _cases(content: dict[str, Any], workload: str) -> list[dict[str, Any]]:
    cases = [case for case in content["cases"] if _is_baseline(case) or case["workload"] == workload]
    if not cases:
        known = sorted({case["workload"] for case in content["cases"]})
        raise ValueError(f"workload {workload!r} was not measured; use one of {', '.join(known)}")
    return cases


def _runs(content: dict[str, Any], engine: str) -> list[dict[str, Any]]:
    return [run for run in content["runs"] if (run["workload"], run["engine"]) == ("stateful", engine)]


def _of_limit(rows: list[dict[str, Any]], limit: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in rows if (row["workload"], row["engine"]) == (limit["workload"], limit["engine"])]


def _is_baseline(case: dict[str, Any]) -> bool:
    return bool(case["workload"] == "echo")


def _engine(case: dict[str, Any]) -> str:
    return f"{case['engine']}{'' if case['arrivals'] == 'constant' else ', Poisson arrivals'}"


def _times(ratio: float) -> str:
    return factor(ratio).removesuffix("x")


def _phase(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _conditions(content: dict[str, Any], command: str, unit: str = "") -> str:
    return conditions(content, command, f"Kafka connector {content['conditions']['kafka_connector']}", unit)
