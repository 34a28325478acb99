"""Render the results of the published run of `make demo COMPARE=1 PUBLISH=1` as tables."""

from pathlib import Path
from typing import Any

from benchmarks.results.format import factor, measured, table

DEMO = "references/measured/demo.json"
COMMAND = "make demo COMPARE=1 PUBLISH=1"
HOP = "end to end"
FIELDS = {"p50": "p50_ms", "p90": "p90_ms", "p99": "p99_ms", "max": "max_ms"}


def comparison(root: Path, _: str) -> str:
    """Return the conditions of the run, and tables of latencies, speed-ups, over-delivery and CPU use of both modes."""
    content = measured(root, DEMO, COMMAND)
    known, rows = content["conditions"], _rows(content)
    fast, slow = rows["real-time"], rows["micro-batch"]
    conditions = (
        f"Measured with `{known['command']}` on {known['date']}: {known['cores']} cores, {known['memory_gib']} GiB, "
        f"PySpark {known['pyspark']}, Kafka connector {known['kafka_connector']}, broker {known['kafka_broker']}, "
        f"Java {known['java']}.\nLoad: {known['rate']:g} records/s, {known['warm_up_seconds']:g} s of warm-up and then "
        f"{known['duration_seconds']:g} s of measurement.\nLatency is in ms, measured from the append of "
        f"the event in Kafka to the append of its result.\n"
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
    effects = table(
        ("", "real-time mode", "micro-batch mode"),
        [
            (f"impressions delivered beyond a combined goal of {over['goal']:,}", *map(str, _both(over))),
            (
                "CPU cores used by all queries, the broker and the database",
                *("-" if c is None else f"{c:.1f}" for c in _both(cpu)),
            ),
        ],
    )
    boundaries = "".join(
        f"Boundaries of `{query}`, in ms: {', '.join(map(str, pauses))}.\n"
        for query, pauses in content["boundaries_ms"].items()
    )
    return f"{conditions}\n{latencies}\n{boundaries}\n{effects}{_load(cpu['micro_batch'], known['cores'])}"


def _rows(content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["mode"]: row for row in content["rows"] if row["hop"] == HOP}


def _cells(row: dict[str, Any]) -> list[str]:
    return [f"{row[field]:,}" for field in FIELDS.values()]


def _both(values: dict[str, Any]) -> tuple[Any, Any]:
    return values["real_time"], values["micro_batch"]


def _load(used: float | None, cores: int) -> str:
    if used is None:
        return ""
    return (
        f"\nThe micro-batch run used {used:.1f} of {cores} cores. Its records also waited for a free core, so the "
        "speed-up contains the effect of this load; the benchmark below compares the modes one query at a time.\n"
    )
