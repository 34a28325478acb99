"""Render rows of the JSON of the probes as Markdown."""

from pathlib import Path

from benchmarks.results.format import Block, published, table

MODES = {"drains": "local mode", "drains-on-a-cluster": "cluster with two executors"}
HEADER = ("where", "stops", "p50 / p99 / max", "lost", "repeated", "killed in a stop", "lost", "repeated")


def drains(root: Path, _: str) -> str:
    """Return the duration of stops, and the lost and repeated results after stops and kills."""
    content = published(root, "probes", "bench-drains")
    found = {row["probe"]: row for row in content["probes"]}
    rows = []
    for probe, where in MODES.items():
        row = found[probe]
        seconds = " / ".join(f"{row[f'{name}_ms'] / 1_000:.1f}" for name in ("p50", "p99", "max"))
        by_stops = ("0", str(row["repeated_by_stops"]))
        by_kills = (str(row["lost"]), str(row["repeated_by_kills"]))
        rows.append((where, str(row["found"]), f"{seconds} s", *by_stops, str(row["kills"]), *by_kills))
    first = found["drains"]
    intro = (
        f"`make bench-drains`, {first['date']}, {content['conditions']['cores']} cores, 100 records/s: a "
        "stateless and a stateful query, with an interval of five minutes, are stopped alternately after their first "
        "commit, and start again."
    )
    return f"{intro}\n\n{table(HEADER, rows)}"


def python_path(root: Path, _: str) -> str:
    """Return the cost of Python in a stateful query, beside Scala and micro-batch mode."""
    content = published(root, "probes", "bench-python-path")
    (row,) = (row for row in content["probes"] if row["probe"] == "python-path")
    ms = {name: f"{row[f'{name}p50_ms']:,} and {row[f'{name}p99_ms']:,} ms" for name in ("", "scala_", "micro_batch_")}
    intro = f"`make bench-python-path`, {row['date']}, {content['conditions']['cores']} cores"
    return (
        f"{intro}, {row['rate']:,.0f} records/s: p50 and p99 are {ms['']}; in Scala "
        f"{ms['scala_']}, in micro-batch mode {ms['micro_batch_']}. One state partition processes "
        f"{row['python_rows_per_second']:,} rows per second; in Scala {row['scala_rows_per_second']:,}."
    )


BLOCKS: dict[str, Block] = {"measured-drains": drains, "measured-python": python_path}
