"""Render the published run of `make demo COMPARE=1`: the conditions, the latencies of both modes, and their effects."""

from pathlib import Path
from typing import Any

from benchmarks.results.format import factor, machine_with_memory, measured, table

DEMO = "references/measured/demo.json"
HOP = "end to end"
FIELDS = {"p50": "p50_ms", "p90": "p90_ms", "p99": "p99_ms", "max": "max_ms"}


def comparison(root: Path, _: str) -> str:
    """Return the conditions of the run, a table of latencies, and a paragraph about over-delivery and CPU use."""
    content = measured(root, DEMO, "make demo COMPARE=1 PUBLISH=1")
    known, rows = content["conditions"], {row["mode"]: row for row in content["rows"] if row["hop"] == HOP}
    fast, slow = rows["real-time"], rows["micro-batch"]
    conditions = (
        f"Measured with `{known['command']}` on {known['date']}: {machine_with_memory(known)}. "
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
