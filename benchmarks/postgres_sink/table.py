"""Render the JSON of `make bench-postgres-sink` as Markdown tables."""

from pathlib import Path
from typing import Any

from benchmarks.results.format import Block, published, table

COMMAND = "bench-postgres-sink"


def sink(root: Path, _: str) -> str:
    """Return the conditions, a table of latencies from Kafka to commit, and the latency of one row."""
    content = published(root, "postgres_sink", COMMAND)
    known = content["conditions"]
    before, after = known["load_average_before_and_after"]
    conditions = (
        f"Measured with `make {COMMAND} PUBLISH=1` on {known['date']}. "
        f"Machine: {known['cores']} cores, PostgreSQL {known['postgresql']}, psycopg {known['psycopg']}. "
        f"The load average of the machine was {before} before the runs and {after} after them.\n"
    )
    single = _single_row(content["single_row_visible_ms"])
    return "\n".join([conditions, _paths(content["end_to_end"]), single])


def _paths(paths: list[dict[str, Any]]) -> str:
    rates = list(dict.fromkeys(path["rate"] for path in paths))
    cells = {(path["path"], path["rate"]): f"{path['p50_ms']:,g} / {path['p99_ms']:,g}" for path in paths}
    names = dict.fromkeys(path["path"] for path in paths)
    rows = [(name, *(cells.get((name, rate), "-") for rate in rates)) for name in names]
    return table(("Kafka append to commit, p50 / p99 in ms", *(f"{rate:g} results/s" for rate in rates)), rows)


def _single_row(visible_ms: dict[str, float]) -> str:
    return (
        f"With `linger_ms` 2, a single row became visible to another connection after {visible_ms['p50']} ms (p50), "
        f"{visible_ms['p99']} ms (p99) and {visible_ms['max']} ms (max).\n"
    )


BLOCKS: dict[str, Block] = {"measured-postgres-sink": sink}
