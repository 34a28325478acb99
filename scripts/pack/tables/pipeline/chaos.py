"""Render the published runs of `make chaos` as a table with one row per fault."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.results.format import measured, table

CHAOS = "references/measured/chaos.json"
COMMAND = "make chaos PUBLISH=1"


def faults(root: Path, _: str) -> str:
    """Return the conditions of the runs, the table of faults, and the sums."""
    content = measured(root, CHAOS, COMMAND)
    runs = content["runs"]
    rows = [_row(name, what, runs) for name, what in content["kinds"].items()]
    header = ("fault", "times", "median, s", "maximum, s", "written again", "lost", "wrong")
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
    return (f"`{name}`: {what}", str(len(incidents)), *times, f"{again:,}", *_differences(runs, name))


def _differences(runs: Sequence[dict[str, Any]], name: str) -> tuple[str, str]:
    of_kind = [row for run in runs for row in run["differences"] if row["fault"] == name]
    return str(sum(row["lost"] for row in of_kind)), str(sum(row["wrong"] for row in of_kind))


def _conditions(runs: Sequence[dict[str, Any]]) -> str:
    newest, dates = runs[-1], sorted({run["date"] for run in runs})
    loads = sorted(run["load_average"] for run in runs)
    load = " to ".join(dict.fromkeys((f"{loads[0]:g}", f"{loads[-1]:g}")))
    days = " and ".join(dict.fromkeys((dates[0], dates[-1])))
    return (
        f"Measured on {days}: {newest['cores']} cores, {newest['memory_gib']} GiB, PySpark "
        f"{newest['pyspark']}, Kafka connector {newest['kafka_connector']}, broker {newest['kafka_broker']}, Java "
        f"{newest['java']}.\nThe load average over 15 minutes, which includes the runs themselves, was {load}.\n"
    )


def _sums(runs: Sequence[dict[str, Any]]) -> str:
    incidents = sum(len(run["incidents"]) for run in runs)
    seeds = sorted({run["seed"] for run in runs})
    lost, wrong = (sum(row[name] for run in runs for row in run["differences"]) for name in ("lost", "wrong"))
    records, results = (f"{sum(run[name] for run in runs):,}" for name in ("records", "results"))
    return (
        f"In total: {_count(incidents, 'fault')} of {_count(len(seeds), 'seed')} in {_count(len(runs), 'run')}, "
        f"{records} records, {results} results compared with the replay, {lost} lost, {wrong} wrong "
        "([commands](measured/chaos.json)).\n"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
