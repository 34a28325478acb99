"""Render the published runs of the attribution pipeline: `make chaos`, `make demo COMPARE=1` and `make soak`."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.results.format import factor, measured, table

CHAOS, DEMO, SOAK = (f"references/measured/{name}.json" for name in ("chaos", "demo", "soak"))
HOP = "end to end"
FIELDS = {"p50": "p50_ms", "p90": "p90_ms", "p99": "p99_ms", "max": "max_ms"}
STEADY = "steady"
ALWAYS = ("memory in", "latency")
"""The first words in the titles of rows that the table of `make soak` always contains."""
SOAK_HEADER = ("resource", "of", "level", "peak", "change per hour", "trend")


def faults(root: Path, _: str) -> str:
    """Return the conditions of the runs, a table of the faults, and a sentence with the totals."""
    content = measured(root, CHAOS, "make chaos PUBLISH=1")
    runs = content["runs"]
    rows = [_row(name, what, runs) for name, what in content["kinds"].items()]
    header = ("fault", "times", "median, s", "maximum, s", "written again")
    return f"{_conditions(runs)}\n{table(header, [row for row in rows if row])}\n{_sums(runs)}"


def _row(name: str, what: str, runs: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    incidents = [incident for run in runs for incident in run["incidents"] if incident["fault"] == name]
    if not incidents:
        return ()
    seconds = [incident["seconds"] for incident in incidents if incident["seconds"] is not None]
    times = (
        (f"{median(seconds):.1f}", f"{max(seconds):.1f}") if len(seconds) == len(incidents) else ("-", "no recovery")
    )
    again = sum(incident["replayed"] for incident in incidents)
    return (f"`{name}`: {what}", str(len(incidents)), *times, f"{again:,}")


def _conditions(runs: Sequence[dict[str, Any]]) -> str:
    dates = sorted({run["date"] for run in runs})
    loads = sorted(run["load_average"] for run in runs)
    load = " to ".join(dict.fromkeys((f"{loads[0]:g}", f"{loads[-1]:g}")))
    days = " and ".join(dict.fromkeys((dates[0], dates[-1])))
    return (
        f"Measured on {days}: {_machine(runs[-1])}.\n"
        f"The load average over 15 minutes, which includes the runs themselves, was {load}.\n"
    )


def _machine(known: dict[str, Any]) -> str:
    return (
        f"{known['cores']} cores, {known['memory_gb']} GiB, PySpark {known['pyspark']}, Kafka connector "
        f"{known['kafka_connector']}, broker {known['kafka_broker_and_clients']}, Java {known['java']}"
    )


def _sums(runs: Sequence[dict[str, Any]]) -> str:
    incidents = sum(len(run["incidents"]) for run in runs)
    seeds = {run["seed"] for run in runs}
    records, results, lost, wrong = (
        f"{sum(run[name] for run in runs):,}" for name in ("records", "results", "lost", "wrong")
    )
    return (
        f"In total, {len(runs)} runs with {len(seeds)} seeds had {incidents} faults and {records} records. "
        f"Of {results} results compared with the replay, {lost} were lost and {wrong} wrong "
        "([commands](measured/chaos.json)).\n"
    )


def comparison(root: Path, _: str) -> str:
    """Return the conditions of the run, a table of latencies, and a paragraph about over-delivery and CPU use."""
    content = measured(root, DEMO, "make demo COMPARE=1 PUBLISH=1")
    known, rows = content["conditions"], {row["mode"]: row for row in content["rows"] if row["hop"] == HOP}
    fast, slow = rows["real-time"], rows["micro-batch"]
    conditions = (
        f"Measured with `{known['command']}` on {known['date']}: {_machine(known)}. "
        f"Load: {known['rate']:g} records/s, {known['warm_up_seconds']:g} s of warm-up and then "
        f"{known['duration_seconds']:g} s of measurement. Latency is in ms, from the append of the event in Kafka to "
        f"the append of its result.\n"
    )
    latencies = table(
        ("decode and correlate, two queries", *FIELDS),
        [
            (f"real-time mode, a commit every {known['interval_seconds']:g} s", *_cells(fast)),
            ("micro-batch mode, no pause between batches", *_cells(slow)),
            ("speed-up", *(factor(slow[field] / max(fast[field], 1)) for field in FIELDS.values())),
        ],
    )
    over, cpu = content["over_delivered"], content["cpu"]
    effects = (
        f"The campaigns exceeded their combined goal of {over['goal']:,} impressions by {over['real_time']} in "
        f"real-time mode and by {over['micro_batch']} in micro-batch mode.{_load(cpu['micro_batch'], known['cores'])}\n"
    )
    return f"{conditions}\n{latencies}\n{effects}"


def _cells(row: dict[str, Any]) -> list[str]:
    return [f"{row[field]:,}" for field in FIELDS.values()]


def _load(used: float | None, cores: int) -> str:
    if used is None:
        return ""
    return (
        f" The micro-batch run used {used:.1f} of {cores} cores, so its records also waited for a free core; "
        "the first table in this section compares the modes one query at a time."
    )


def soak(root: Path, _: str) -> str:
    """Return the conditions of the run, and a table with memory, latency and every resource that is not steady."""
    content = measured(root, SOAK, "make soak PUBLISH=1")
    known = content["conditions"]
    foreign = content["foreign_cores"]
    conditions = (
        f"Measured with `{known['command']}` on {known['date']}: {known['cores']} cores, Java {known['java']}, "
        f"PySpark {known['pyspark']}, Kafka connector {known['kafka_connector']}, "
        f"broker {known['kafka_broker_and_clients']}.\n"
        f"Load: {known['duration_seconds'] / 3600:.1f} hours at {known['rate']:g} records/s, "
        f"{known['hot_campaign_share']:.0%} of the requests for one campaign, a commit every "
        f"{known['interval_seconds']:g} s; {content['records']:,} records, {content['differences']} differences from "
        f"the replay.\nOther programs used {min(foreign):.1f} to {max(foreign):.1f} cores.\n"
    )
    rows = [
        (
            row["title"],
            row["part"].removesuffix("_ms"),
            _number(row["level"]),
            _number(max(row["minutes"])),
            f"{'+' if row['per_hour'] > 0 else ''}{_number(row['per_hour'])}",
            f"{row['trend']}: {row['cause']}" if row["trend"] == "grows as expected" else row["trend"],
        )
        for row in content["growth"]
        if row["trend"] != STEADY or row["title"].startswith(ALWAYS)
    ]
    steady = sum(row["trend"] == STEADY for row in content["growth"])
    note = f"{steady} of {len(content['growth'])} resources are steady; the table omits most of them."
    return f"{conditions}{note}\n\n{table(SOAK_HEADER, rows)}"


def _number(value: float) -> str:
    # The sum turns -0.0 into 0.0.
    return f"{value:,.0f}" if abs(value) >= 10 else f"{round(value, 1) + 0.0:.1f}"
