"""
Turn the JSON of the latency benchmarks into the tables of the pages.

The root folder and what a page asks for arrive; Markdown leaves.
Every number is one of the JSON's, rounded only in its tail, so that a reader finds it there again.
"""

import json
from pathlib import Path
from typing import Any

from scripts.pack.tables.format import PERCENTILES, conditions, latencies, milliseconds, table

FOLDER = "references/measured"
RATIOS = {
    "times_floor": "p50 times the floor",
    "below_micro_batch": "p50 below micro-batch",
    "below_untuned": "p50 below micro-batch, untuned",
}
PHASES = {
    "latestOffset": "offsets asked",
    "queryPlanning": "planning",
    "walCommit": "offset log",
    "addBatch": "tasks beyond the interval",
    "commitOffsets": "commit log",
    "triggerExecution": "all beyond the interval",
    "state commit, all partitions": "state commit, all partitions",
    "state load, all partitions": "state load, all partitions",
}


def modes(root: Path, work: str) -> str:
    """Return what `make bench KEEP=1` measured last for `stateless` or `stateful`, the floor first."""
    content = _content(root, "latency")
    rows = []
    for cell in _cells(content, work):
        in_engine = "-" if cell["work"] == "echo" else f"{cell['engine_p50_ms']} / {cell['engine_p99_ms']}"
        ratios = [_times(cell[name]) for name in RATIOS]
        rows.append((_engine(cell), *latencies(cell), in_engine, *ratios, f"{cell['cpu_s_per_million']:,.0f}"))
    header = ("from due to received, ms", *PERCENTILES, "append to append p50 / p99", *RATIOS.values())
    notes = [_conditions(content, "bench"), table((*header, "CPU s per million"), rows)]
    merged = [cell for cell in _cells(content, work) if cell["outputs_per_record"] < 0.995]
    notes += [
        f"{_engine(cell)} merges: {cell['outputs_per_record']:.2f} outputs per record; a record counts as answered by "
        "the first output that contains it.\n"
        for cell in merged
    ]
    return "\n".join(notes)


def overview(root: Path, _: str) -> str:
    """Return the ends of each distribution of `make bench KEEP=1`, all works below each other."""
    content = _content(root, "latency")
    rows = [
        (
            *(cell["work"], _engine(cell), *(milliseconds(cell[f"{name}_ms"]) for name in ("p50", "p99", "max"))),
            *(_times(cell[name]) for name in RATIOS),
        )
        for cell in content["cells"]
    ]
    header = ("work", "from due to received, ms", "p50", "p99", "max", *RATIOS.values())
    return f"{_conditions(content, 'bench')}\n{table(header, rows)}"


def boundaries(root: Path, _: str) -> str:
    """Return what the batch boundaries of `make bench KEEP=1` cost, and in which phases."""
    content = _content(root, "latency")
    cells = {(cell["work"], cell["engine"]): cell for cell in content["cells"]}
    rows = []
    for phase in content["phases"]:
        cell = cells[phase["work"], phase["engine"]]
        gaps = (f"{cell['boundaries']}", f"{cell['gap_median_ms']:,.0f} / {cell['gap_most_ms']:,.0f}")
        rows.append((f"{phase['work']}, {phase['engine']}", *gaps, *(_phase(phase.get(name)) for name in PHASES)))
    header = ("batch boundary, ms", "boundaries", "slowest record: median / most", *PHASES.values())
    return f"{_conditions(content, 'bench')}\n{table(header, rows)}"


def costs(root: Path, _: str) -> str:
    """Return what a million records cost in real-time mode, by `make bench KEEP=1`."""
    content = _content(root, "latency")
    found = [cell for cell in content["cells"] if cell["engine"].startswith("real-time")]
    rows = [(cell["work"], _engine(cell), f"{cell['cpu_s_per_million']:,.0f}") for cell in found]
    header = ("work", "engine", "CPU s per million records")
    return f"{_conditions(content, 'bench')}\n{table(header, rows)}"


def knobs(root: Path, work: str) -> str:
    """Return what one knob at a time does around the recommended settings, by `make bench-tuning KEEP=1`."""
    content = _content(root, "tuning")
    rows = []
    for cell in _cells(content, work):
        gap = "-" if cell["gap_median_ms"] is None else f"{cell['gap_median_ms']:,.0f} / {cell['gap_most_ms']:,.0f}"
        knob, _, value = cell["engine"].partition(" = ")
        name = f"`{knob}`" if "." in knob else knob
        apart = f"{milliseconds(cell['p99_least_ms'])} / {milliseconds(cell['p99_most_ms'])}"
        rows.append((name, value, *latencies(cell), apart, gap, f"{cell['engine_cores']:.2f}"))
    header = (
        f"{work}: knob",
        "value",
        *PERCENTILES,
        "p99 of runs: least / most",
        "gap: median / most",
        "engine, cores",
    )
    return f"{_conditions(content, 'bench-tuning')}\n{table(header, rows)}"


def load(root: Path, _: str) -> str:
    """Return the rate that each mode sustains, with latency and CPU cost at fractions of that rate."""
    content = _content(root, "throughput")
    percents = content["conditions"]["shares"]
    rows = []
    for limit in content["limits"]:
        shares, steps = (
            [entry for entry in content[kind] if (entry["work"], entry["engine"]) == (limit["work"], limit["engine"])]
            for kind in ("cells", "steps")
        )
        by_rate = sorted(shares, key=lambda cell: float(cell["rate"]))
        numbers = [
            f"{milliseconds(cell['p50_ms'])} / {milliseconds(cell['p99_ms'])} / {cell['cpu_s_per_million']:,.0f}"
            for cell in by_rate
        ]
        # An engine that keeps up no rate at all has no shares of one.
        numbers += ["-"] * (len(percents) - len(numbers))
        # Who never fell behind might have kept up more than was tried.
        bound = "" if any(not step["sustained"] for step in steps) else "at least "
        rows.append((f"{limit['work']}, {limit['engine']}", f"{bound}{limit['sustained']:,g}", *numbers))
    header = (
        "p50 ms / p99 ms / CPU s per million",
        "records/s sustained",
        *(f"at {percent:g} % of that" for percent in percents),
    )
    return f"{_conditions(content, 'bench-throughput')}\n{table(header, rows)}"


def rate_to_stat(root: Path, _: str) -> str:
    """Return what the engine takes without Kafka, by `make bench-engine-only KEEP=1`."""
    content = _content(root, "engine_only")
    rows = [(cell["engine"], *latencies(cell), f"{cell['outputs_per_record']:g}") for cell in content["cells"]]
    header = ("from due to counted, ms", *PERCENTILES, "statistics per record")
    return f"{_conditions(content, 'bench-engine-only')}\n{table(header, rows)}"


def _content(root: Path, stem: str) -> dict[str, Any]:
    path = root / FOLDER / f"{stem}.json"
    if not path.is_file():
        raise ValueError(f"{FOLDER}/{stem}.json does not exist; write it with `make bench KEEP=1` or its like")
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _cells(content: dict[str, Any], work: str) -> list[dict[str, Any]]:
    found = [cell for cell in content["cells"] if cell["work"] in {"echo", work}]
    if not found:
        raise ValueError(
            f"nothing was measured for {work!r}; name one of {sorted({c['work'] for c in content['cells']})}"
        )
    return found


def _engine(cell: dict[str, Any]) -> str:
    return f"{cell['engine']}{'' if cell['arrivals'] == 'constant' else ', Poisson arrivals'}"


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:,g}"


def _phase(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _conditions(content: dict[str, Any], command: str) -> str:
    return conditions(content, command, f"Kafka connector {content['conditions']['kafka_connector']}")
