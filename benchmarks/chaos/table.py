"""Render the published runs of `make chaos`: the conditions, a table of the faults, and a sentence with the totals."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.results.format import Block, machine_with_memory, measured, table

RUNS = "references/measured/chaos.json"


def faults(root: Path, _: str) -> str:
    """Return the conditions of the runs, a table of the faults, and a sentence with the totals."""
    content = measured(root, RUNS, "make chaos PUBLISH=1")
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
        f"Measured on {days}: {machine_with_memory(runs[-1])}.\n"
        f"The load average over 15 minutes, which includes the runs themselves, was {load}.\n"
    )


def _sums(runs: Sequence[dict[str, Any]]) -> str:
    incidents = sum(len(run["incidents"]) for run in runs)
    seeds = {run["seed"] for run in runs}
    records, results, lost, wrong = (
        f"{sum(run[name] for run in runs):,}" for name in ("records", "results", "lost", "wrong")
    )
    return (
        f"In total, {len(runs)} runs with {len(seeds)} seeds had {incidents} faults and {records} records. "
        f"Of {results} results compared with the replay, {lost} were lost and {wrong} were wrong "
        "([commands](measured/chaos.json)).\n"
    )


BLOCKS: dict[str, Block] = {"measured-chaos": faults}
