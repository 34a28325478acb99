"""
Turn the JSON of `make bench-other-engines` into the table that compares real-time mode with other engines.

The root folder and the work that a page asks for arrive; Markdown leaves.
An engine that was not measured is named with the reason: a table that leaves it out in silence would say too much.
"""

import json
from pathlib import Path
from typing import Any

from scripts.pack.tables.format import PERCENTILES, conditions, latencies, table

PEERS = "references/measured/other_engines.json"


def peers(root: Path, work: str) -> str:
    """Return what `make bench-other-engines KEEP=1` measured last for `stateless` or `stateful`, the floor first."""
    path = root / PEERS
    if not path.is_file():
        raise ValueError(f"{PEERS} does not exist; write it with `make bench-other-engines KEEP=1`")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in content["cells"] if cell["work"] in {"echo", work}]
    if all(cell["work"] == "echo" for cell in cells):
        works = sorted({cell["work"] for cell in content["cells"]} - {"echo"})
        raise ValueError(f"nothing was measured for {work!r}; name one of {works}")
    header = (f"{work}: from due to received, ms", "records/s", *PERCENTILES, "p50 times the floor")
    rows = [_row(cell) for cell in cells]
    missing = [
        f"{peer['engine']} was not measured: {peer['not_measured']}.\n"
        for peer in content["peers"]
        if peer["not_measured"]
    ]
    return "\n".join(
        [_conditions(content), table((*header, "batch boundaries", "cores of the engine"), rows), *missing]
    )


def _row(cell: dict[str, Any]) -> tuple[str, ...]:
    # Spark is the one engine here with several modes, so its mode alone would not name it.
    engine = "Spark, real-time mode" if cell["engine"] == "real-time" else cell["engine"]
    times = "-" if cell["times_floor"] is None else f"{cell['times_floor']:,g}"
    return (
        *(engine, f"{cell['rate']:,g}", *latencies(cell), times),
        *(str(cell["boundaries"] or "-"), f"{cell['engine_cores']:.2f}"),
    )


def _conditions(content: dict[str, Any]) -> str:
    versions = ", ".join(f"{peer['engine']} {_version(peer)}" for peer in content["peers"] if not peer["not_measured"])
    return conditions(content, "bench-other-engines", versions or "no other engine")


def _version(peer: dict[str, Any]) -> str:
    first: str = peer["packages"].split(", ")[0]
    return first.replace("==", ":").rpartition(":")[2]
