"""
Render the JSON of `make bench-latency` as Markdown tables.

The tables contain the JSON's numbers, rounded. Only the ratios between one copy and two copies are computed.
"""

from pathlib import Path
from typing import Any

from benchmarks.results.format import (
    BASELINE_WORKLOAD,
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

COMMAND = "bench-latency"
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


def modes(root: Path, workload: str) -> str:
    """Return a table for the workload `stateless` or `stateful`: the baseline, then each mode."""
    content = published(root, "latency", COMMAND)
    rows = []
    for case in of_workload(content["cases"], workload):
        in_engine = "-" if _is_baseline(case) else f"{case['engine_p50_ms']} / {case['engine_p99_ms']}"
        ratios = [factor(case[name]) for name in RATIOS]
        rows.append((case["engine"], *latencies(case), in_engine, *ratios, f"{case['cpu_seconds_per_million']:,.0f}"))
    header = (f"{workload}: mode", *PERCENTILES, "broker append to append, p50 / p99", *RATIOS.values())
    rule = _rule(
        content,
        "Each cell is the larger ratio of the two repetitions; each ratio compares runs of the same repetition.",
    )
    known = conditions(content, COMMAND, f"{LATENCY_UNIT} {rule}")
    notes = [known, table((*header, "CPU s per million records"), rows)]
    merged = [case for case in of_workload(content["cases"], workload) if case["outputs_per_record"] < 0.995]
    if merged:
        outputs = ", ".join(f"{case['outputs_per_record']:.2f} in *{case['engine']}*" for case in merged)
        notes.append(
            f"One output can contain the result of several records. Outputs per record: {outputs}. "
            "The latency of a record is the time until the first output that contains its result is received.\n"
        )
    return "\n".join(notes)


def overview_rows(root: Path) -> list[dict[str, Any]]:
    """Return the cases that the README shows: a stateless and a stateful query, each in both modes."""
    cases = {(case["workload"], case["engine"]): case for case in published(root, "latency", COMMAND)["cases"]}
    return [cases[workload, mode] for workload in ("stateless", "stateful") for mode in ("real-time", "micro-batch")]


def speed_up(root: Path, _: str) -> str:
    """Return sentences for the README that compare real-time mode with micro-batch mode, without and with state."""
    known, rows = published(root, "latency", COMMAND)["conditions"], overview_rows(root)
    p50, slow_p50, state_p50, slow_state_p50 = (milliseconds(row["p50_ms"]) for row in rows)
    longest, slow_longest = (milliseconds(row["max_ms"]) for row in rows[2:])
    return (
        f"On OSS 4.3.0 with tuned settings, the median latency of a stateless query is {p50} ms in real-time mode and "
        f"{slow_p50} ms in micro-batch mode. For a stateful query, it is {state_p50} ms in real-time mode and "
        f"{slow_state_p50} ms in micro-batch mode.\n"
        f"The slowest record of the stateful query took {longest} ms in real-time mode, because it arrived during "
        f"[the pause between two batches](references/latency.md); in micro-batch mode, it took {slow_longest} ms.\n"
        f"Measured with `make {COMMAND} PUBLISH=1` on {known['date']} "
        f"([all modes](references/execution_modes.md#latency-of-each-mode)).\n"
    )


def boundaries(root: Path, _: str) -> str:
    """Return a table of batch boundary phases for each real-time query."""
    content = published(root, "latency", COMMAND)
    cases = {(case["workload"], case["engine"]): case for case in content["cases"]}
    rows = []
    for phase in content["phases"]:
        case = cases[phase["workload"], phase["engine"]]
        pauses = (str(case["boundaries"]), f"{case['pause_median_ms']:,.0f} / {case['pause_max_ms']:,.0f}")
        durations = (f"{phase[name]:,.0f}" if name in phase else "-" for name in PHASES)
        rows.append((f"{phase['workload']}, {phase['engine']}", *pauses, *durations))
    header = ("workload, mode", "boundaries", "longest wait of a record: median / max", *PHASES.values())
    return f"{conditions(content, COMMAND, 'Times are in ms.')}\n{table(header, rows)}"


def costs(root: Path, _: str) -> str:
    """Return a table of CPU seconds per million records for each real-time query."""
    content = published(root, "latency", COMMAND)
    real_time = [case for case in content["cases"] if case["engine"].startswith("real-time")]
    rows = [(case["workload"], case["engine"], f"{case['cpu_seconds_per_million']:,.0f}") for case in real_time]
    header = ("workload", "mode", "CPU s per million records")
    return f"{conditions(content, COMMAND, _rule(content))}\n{table(header, rows)}"


def two_copies(root: Path, _: str) -> str:
    """Return a table of p99.9 and maximum with one and two copies of the query, per repeat."""
    content = published(root, "latency", COMMAND)
    pairs = zip(_runs(content, "real-time"), _runs(content, "real-time, two copies"), strict=True)
    rows, header = [], ["run"]
    for name in ("p99.9", "max"):
        header += [f"{name} in ms, one copy", f"{name} in ms, two copies", "ratio"]
    for number, (one, two) in enumerate(pairs, 1):
        values = [(one[name], two[name]) for name in ("p99.9_ms", "max_ms")]
        cells = [(milliseconds(first), milliseconds(second), factor(first / second)) for first, second in values]
        rows.append((str(number), *cells[0], *cells[1]))
    [baseline] = [case for case in content["cases"] if _is_baseline(case)]
    note = f"For comparison, the baseline without an engine has a p99.9 of {milliseconds(baseline['p99.9_ms'])} ms.\n"
    return f"{conditions(content, COMMAND)}\n{table(header, rows)}\n{note}"


def _rule(content: dict[str, Any], *more: str) -> str:
    """Return a sentence that states how each cell summarizes the runs, followed by the sentences in `more`."""
    is_pair = content["conditions"]["repeats"] == 2
    rule = "Each cell shows the higher of two runs." if is_pair else "Each cell shows the median of the runs."
    return " ".join([rule, *more])


def _runs(content: dict[str, Any], engine: str) -> list[dict[str, Any]]:
    return [run for run in content["runs"] if (run["workload"], run["engine"]) == ("stateful", engine)]


def _is_baseline(case: dict[str, Any]) -> bool:
    return bool(case["workload"] == BASELINE_WORKLOAD)


BLOCKS: dict[str, Block] = {
    "measured-modes": modes,
    "measured-speed-up": speed_up,
    "measured-boundaries": boundaries,
    "measured-costs": costs,
    "measured-two-copies": two_copies,
}
