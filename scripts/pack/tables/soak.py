"""Render the result of the published run of `make soak PUBLISH=1` as a table."""

import json
from pathlib import Path
from typing import Any

from scripts.pack.tables.format import table

SOAK = "references/measured/soak.json"
COMMAND = "make soak PUBLISH=1"
TITLES = {
    "memory_mib": "memory, MiB",
    "jvm_mib": "memory in Spark's JVM, MiB",
    "handles": "open files and connections",
    "jvm_threads": "threads in Spark's JVM",
    "jvm_classes": "classes in Spark's JVM",
    "state_rows": "state rows",
    "state_mib": "state memory, MiB",
    "checkpoint_files": "checkpoint files",
    "checkpoint_mib": "checkpoint size, MiB",
    "latency": "latency, ms",
}


def soak(root: Path, _: str) -> str:
    """Return the conditions of the run, and a table with the growth of each resource."""
    path = root / SOAK
    if not path.is_file():
        raise ValueError(f"{SOAK} does not exist; create it with `{COMMAND}`")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    known = content["conditions"]
    busiest = max(content["foreign_cores"], default=0)
    conditions = (
        f"Measured with `{known['command']}` on {known['date']}: {known['cores']} cores, Java {known['java']}, "
        f"PySpark {known['pyspark']}, Kafka connector {known['kafka_connector']}, "
        f"broker {known['kafka_broker_and_clients']}.\n"
        f"Load: {known['duration_seconds'] / 3600:.1f} hours at {known['rate']:g} records/s, "
        f"{known['hot_campaign_share']:.0%} of the requests for one campaign, a commit every "
        f"{known['interval_seconds']:g} s; {content['records']:,} records, {content['differences']} differences from "
        f"the replay.\nOther programs used up to {busiest:.1f} cores.\n"
    )
    rows = [
        (
            TITLES[row["group"]],
            row["part"].removesuffix("_ms"),
            _number(row["level"]),
            f"{'+' if row['per_hour'] > 0 else ''}{_number(row['per_hour'])}",
            f"{row['trend']}: {row['cause']}" if row["trend"] == "grows as expected" else row["trend"],
        )
        for row in content["growth"]
    ]
    return f"{conditions}\n{table(('resource', 'of', 'level', 'change per hour', 'trend'), rows)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.1f}"
