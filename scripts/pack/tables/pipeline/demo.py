"""Render the published run of `make demo COMPARE=1 PUBLISH=1` as tables."""

from pathlib import Path
from typing import Any

from benchmarks.results.format import factor, measured, table

DEMO = "references/measured/demo.json"
COMMAND = "make demo COMPARE=1 PUBLISH=1"
HOP = "end to end"
FIELDS = {"p50": "p50_ms", "p90": "p90_ms", "p99": "p99_ms", "max": "max_ms"}


def comparison(root: Path, _: str) -> str:
    """Return the conditions of the run, a table of latencies, and over-delivery and CPU use of both modes."""
    content = measured(root, DEMO, COMMAND)
    known, rows = content["conditions"], _rows(content)
    fast, slow = rows["real-time"], rows["micro-batch"]
    conditions = (
        f"Measured with `{known['command']}` on {known['date']}: {known['cores']} cores, {known['memory_gib']} GiB, "
        f"PySpark {known['pyspark']}, Kafka connector {known['kafka_connector']}, broker {known['kafka_broker']}, "
        f"Java {known['java']}. Load: {known['rate']:g} records/s, {known['warm_up_seconds']:g} s of warm-up and then "
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


def _rows(content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["mode"]: row for row in content["rows"] if row["hop"] == HOP}


def _cells(row: dict[str, Any]) -> list[str]:
    return [f"{row[field]:,}" for field in FIELDS.values()]


def _load(used: float | None, cores: int) -> str:
    if used is None:
        return ""
    return (
        f" The micro-batch run used {used:.1f} of {cores} cores, so its records also waited for a free core; "
        "the table above compares the modes one query at a time."
    )
