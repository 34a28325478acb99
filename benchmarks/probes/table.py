"""Render rows of `probes.json` as Markdown."""

from pathlib import Path

from benchmarks.results.format import Block, published, table

MODES = {"drains": "local mode", "drains-on-a-cluster": "cluster with two executors"}
HEADER = ("where", "stops", "p50 / p99 / max", "lost", "repeated", "killed during a stop", "lost", "repeated")


def drains(root: Path, _: str) -> str:
    """Return a table of the duration of stops, and of lost and repeated results after stops and kills."""
    content, rows = published(root, "probes", "bench-drains"), []
    found = {row["probe"]: row for row in content["probes"]}
    for probe, where in MODES.items():
        row = found[probe]
        seconds = " / ".join(f"{row[f'{name}_ms'] / 1_000:.1f}" for name in ("p50", "p99", "max"))
        by_stops = ("0", str(row["repeated_by_stops"]))
        by_kills = (str(row["lost"]), str(row["repeated_by_kills"]))
        rows.append((where, str(row["found"]), f"{seconds} s", *by_stops, str(row["kills"]), *by_kills))
    intro = (
        f"`make bench-drains`, {found['drains']['date']}, {content['conditions']['cores']} cores, 100 records/s: a "
        "stateless and a stateful query with a five-minute interval are stopped in turn after their first commit, and "
        "restarted."
    )
    return f"{intro}\n\n{table(HEADER, rows)}"


BLOCKS: dict[str, Block] = {"measured-drains": drains}
