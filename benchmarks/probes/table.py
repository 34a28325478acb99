"""Render rows of `probes.json` as Markdown."""

from pathlib import Path
from typing import Any

from benchmarks.results.format import Block, published, table

MODES = {"drains": "local mode", "drains-on-a-cluster": "cluster with two executors"}
HEADER = ("where", "stops", "p50 / p99 / max", "lost", "repeated", "killed during a stop", "lost", "repeated")


def _found(root: Path, command: str, *probes: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the conditions of a command, and the rows of its probes."""
    content = published(root, "probes", command)
    known = {row["probe"]: row for row in content["probes"]}
    rows = [known[probe] for probe in probes]
    return f"`make {command}`, {rows[0]['date']}, {content['conditions']['cores']} cores", rows


def drains(root: Path, _: str) -> str:
    """Return a table of the duration of stops, and of lost and repeated results after stops and kills."""
    conditions, found = _found(root, "bench-drains", *MODES)
    rows = []
    for row, where in zip(found, MODES.values(), strict=True):
        seconds = " / ".join(f"{row[f'{name}_ms'] / 1_000:.1f}" for name in ("p50", "p99", "max"))
        by_stops = ("0", str(row["repeated_by_stops"]))
        by_kills = (str(row["lost"]), str(row["repeated_by_kills"]))
        rows.append((where, str(row["found"]), f"{seconds} s", *by_stops, str(row["kills"]), *by_kills))
    intro = (
        f"{conditions}, 100 records/s: a stateless and a stateful query with a five-minute interval are stopped in "
        "turn after their first commit, and restarted."
    )
    return f"{intro}\n\n{table(HEADER, rows)}"


def python_path(root: Path, _: str) -> str:
    """Return sentences about the cost of Python in a stateful query, compared with Scala and with micro-batch mode."""
    conditions, (row,) = _found(root, "bench-python-path", "python-path")
    names = ("python", "scala", "micro_batch")
    ms = {name: f"p50 {row[name + '_p50_ms']:,g} ms and p99 {row[name + '_p99_ms']:,g} ms" for name in names}
    rounds = f", median of {row['rounds']} rounds" if row["rounds"] > 1 else ""
    priority = f", load average {row['load_average']}, `nice {row['nice']}`" if row["nice"] else ""
    return (
        f"{conditions}{priority}, {row['rate']:,.0f} records/s{rounds}: {ms['python']} in Python, "
        f"{ms['scala']} in Scala, and {ms['micro_batch']} in micro-batch mode. One state "
        f"partition processes {row['python_rows_per_second']:,} rows per second in Python, and "
        f"{row['scala_rows_per_second']:,} in Scala."
    )


BLOCKS: dict[str, Block] = {
    "measured-drains": drains,
    "measured-python": python_path,
}
