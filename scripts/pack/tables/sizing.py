"""Render the table of source partitions, task slots and busy cores for a record rate, from the published benchmarks."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.pack.tables.format import table
from scripts.pack.tables.latency import FOLDER

RECORD_RATES = (1_000, 10_000, 50_000)
LOAD_PERCENTS = (75, 25)
"""Shares of the highest sustained rate at which the table plans a source task: the fewest tasks and the most."""
STAGES = {"stateless": 1, "stateful": 2}
DATABRICKS_RATE = 250
"""Records per second and source task in the public benchmark of Databricks."""
HEADER = ("records/s", "query", "OSS: source partitions", "OSS: slots", "OSS: busy cores", "Databricks: slots")


def sizing(root: Path, _: str) -> str:
    """Return a table with the slots and busy cores of a stateless and a stateful query for several record rates."""
    throughput, latency = (
        json.loads((root / FOLDER / f"{name}.json").read_text(encoding="utf-8")) for name in ("throughput", "latency")
    )
    partitions = throughput["conditions"]["partitions"]
    limits = {
        each["workload"]: each["sustained_rate"] / partitions
        for each in throughput["limits"]
        if each["engine"] == "real-time"
    }
    rows = []
    for workload, stages in STAGES.items():
        costs = _costs(throughput, workload) | _costs(latency, workload)
        for rate in RECORD_RATES:
            tasks = [math.ceil(rate / (limits[workload] * percent / 100)) for percent in LOAD_PERCENTS]
            slots = [stages * count for count in tasks]
            cores = [f"{rate * _nearest_cost(costs, rate / count) / 1_000_000:.1f}" for count in tasks]
            databricks = f"{stages * math.ceil(rate / DATABRICKS_RATE):,}"
            rows.append((f"{rate:,}", workload, _range(*tasks), _range(*slots), _range(*cores), databricks))
    note = (
        f"OSS 4.3.0: each source task reads {LOAD_PERCENTS[0]}% to {LOAD_PERCENTS[1]}% of the highest rate that "
        f"`make bench-throughput` measured, {limits['stateless']:,g} records/s in a stateless query and "
        f"{limits['stateful']:,g} records/s in a stateful query, with {partitions} partitions on "
        f"{throughput['conditions']['cores']} cores that the broker and the load program shared. The busy cores follow "
        f"from the CPU time per record at the nearest measured rate. Databricks: {DATABRICKS_RATE} records/s per "
        "source task, as in its [benchmark].\n"
    )
    return f"{note}\n{table(HEADER, rows)}"


def _costs(content: Mapping[str, Any], workload: str) -> dict[float, float]:
    """Return CPU seconds per million records by the rate of a source task."""
    conditions = content["conditions"]
    return {
        (case.get("rate") or conditions["rate"]) / conditions["partitions"]: case["cpu_seconds_per_million"]
        for case in content["cases"]
        if (case["workload"], case["engine"]) == (workload, "real-time")
    }


def _nearest_cost(costs: Mapping[float, float], rate: float) -> float:
    return costs[min(costs, key=lambda measured: abs(math.log(measured / rate)))]


def _range(first: float | str, last: float | str) -> str:
    texts = [value if isinstance(value, str) else f"{value:,}" for value in (first, last)]
    return " to ".join(dict.fromkeys(texts))
