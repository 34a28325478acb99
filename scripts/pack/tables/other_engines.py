"""
Render the JSON of `make bench-other-engines` as Markdown tables.

For each engine that was not measured, a sentence below the table states the reason.
"""

from pathlib import Path
from typing import Any

from scripts.pack.tables.format import PERCENTILES, conditions, factor, latencies, measured, table

OTHER_ENGINES = "references/measured/other_engines.json"


def other_engines(root: Path, workload: str) -> str:
    """Return a table for workload `stateless` or `stateful`: the baseline, then each engine."""
    content = measured(root, OTHER_ENGINES, "make bench-other-engines PUBLISH=1")
    cases = [case for case in content["cases"] if case["workload"] in {"echo", workload}]
    if all(case["workload"] == "echo" for case in cases):
        known = sorted({case["workload"] for case in content["cases"]} - {"echo"})
        raise ValueError(f"workload {workload!r} was not measured; use one of {', '.join(known)}")
    header = (f"{workload}: engine", "records/s", *PERCENTILES, "p50 / baseline")
    rows = [_row(case) for case in cases]
    missing = [
        f"{engine['engine']} was not measured: {engine['not_measured']}.\n"
        for engine in content["other_engines"]
        if engine["not_measured"]
    ]
    return "\n".join(
        [_conditions(content), table((*header, "batch boundaries", "CPU cores of the engine"), rows), *missing]
    )


def _row(case: dict[str, Any]) -> tuple[str, ...]:
    # For Spark, the JSON contains only the name of the mode, so add the name of the engine.
    engine = "Spark, real-time mode" if case["engine"] == "real-time" else case["engine"]
    return (
        *(engine, f"{case['rate']:,g}", *latencies(case), factor(case["times_baseline"])),
        *(str(case["boundaries"] or "-"), f"{case['engine_cores']:.2f}"),
    )


def _conditions(content: dict[str, Any]) -> str:
    measured = [engine for engine in content["other_engines"] if not engine["not_measured"]]
    versions = ", ".join(f"{engine['engine']} {_version(engine)}" for engine in measured)
    unit = "Latency is in ms, measured from scheduled send to receipt."
    return conditions(content, "bench-other-engines", versions or "no other engine", unit)


def _version(engine: dict[str, Any]) -> str:
    first: str = engine["packages"].split(", ")[0]
    return first.replace("==", ":").rpartition(":")[2]
