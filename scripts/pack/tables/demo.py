"""Render the results of the published run of `make demo COMPARE=1 PUBLISH=1` as sentences and tables."""

import json
from pathlib import Path
from typing import Any

from scripts.pack.tables.format import factor, table

DEMO = "references/measured/demo.json"
COMMAND = "make demo COMPARE=1 PUBLISH=1"
HOP = "end to end"
FIELDS = {"p50": "p50_ms", "p90": "p90_ms", "p99": "p99_ms", "max": "max_ms"}


def sentence(root: Path, _: str) -> str:
    """Return two sentences with the median and p99 latency of both modes, for the top of the README."""
    rows = _rows(_content(root))
    fast, slow = rows["real-time"], rows["micro-batch"]
    return (
        f"From an ad event to its result, two real-time queries take {_time(fast['p50_ms'])} at the median and "
        f"{_time(fast['p99_ms'])} at p99.\nIn micro-batch mode, the same queries take {_time(slow['p50_ms'])} "
        f"at the median and {_time(slow['p99_ms'])} at p99 ([measured](#measured)).\n"
    )


def comparison(root: Path, _: str) -> str:
    """Return the conditions of the run, and tables of latencies, speed-ups, over-delivery and CPU use of both modes."""
    content = _content(root)
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
    return f"{conditions}\n{latencies}\n{effects}"


def _content(root: Path) -> dict[str, Any]:
    path = root / DEMO
    if not path.is_file():
        raise ValueError(f"{DEMO} does not exist; create it with `{COMMAND}`")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _rows(content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["mode"]: row for row in content["rows"] if row["hop"] == HOP}


def _cells(row: dict[str, Any]) -> list[str]:
    return [f"{row[field]:,}" for field in FIELDS.values()]


def _both(values: dict[str, Any]) -> tuple[Any, Any]:
    return values["real_time"], values["micro_batch"]


def _time(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
