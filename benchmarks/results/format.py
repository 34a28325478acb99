"""Read published measurements, and format their numbers, conditions and Markdown tables. Imports no Spark."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

PERCENTILES = ("p50", "p90", "p99", "p99.9", "max")
Block = Callable[[Path, str], str]
"""A renderer: the root of the repository and the argument of a generated part become Markdown."""
LATENCY_UNIT = "Latency is in ms, measured from scheduled send to receipt."
BASELINE_WORKLOAD = "echo"


def measured(root: Path, name: str, command: str) -> Any:
    """Return the content of a JSON file. If it is missing, raise ValueError with the command that creates it."""
    path = root / name
    if not path.is_file():
        raise ValueError(f"{name} does not exist; create the file with `{command}`")
    return json.loads(path.read_text(encoding="utf-8"))


def published(root: Path, stem: str, command: str) -> dict[str, Any]:
    """Return the JSON of a benchmark, written by `make COMMAND PUBLISH=1`."""
    content: dict[str, Any] = measured(root, f"references/measured/{stem}.json", f"make {command} PUBLISH=1")
    return content


def of_workload(cases: Sequence[dict[str, Any]], workload: str) -> list[dict[str, Any]]:
    """Return the cases of a workload and the baseline. Raise ValueError if the workload has no cases."""
    known = sorted({case["workload"] for case in cases} - {BASELINE_WORKLOAD})
    if workload not in known:
        raise ValueError(f"workload {workload!r} was not measured; use one of {', '.join(known)}")
    return [case for case in cases if case["workload"] in {BASELINE_WORKLOAD, workload}]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table. Vertical bars inside cells are escaped."""
    first, *rest = [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in (header, *rows)
    ]
    return "".join([first, f"|{'---|' * len(header)}\n", *rest])


def milliseconds(value: float) -> str:
    """Return a time in ms as text: with one decimal place below 10 ms, and otherwise as an integer."""
    # With a limit of 10 instead of 9.95, the value 9.96 would be shown as 10.0 and not as 10.
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def latencies(row: Mapping[str, Any]) -> list[str]:
    """Return the percentiles of a benchmark row, formatted for a table."""
    return [milliseconds(row[f"{name}_ms"]) for name in PERCENTILES]


def factor(value: float | None) -> str:
    """Return a ratio with two significant digits, such as `55x`, or `-` for None. More digits would be noise."""
    return "-" if value is None else f"{float(f'{value:.2g}'):,g}x"


def machine_of(known: Mapping[str, Any], clients: str = "") -> str:
    """Return a sentence about the machine, with the Kafka connector or other clients."""
    clients = clients or f"Kafka connector {known['kafka_connector']}"
    java = " ".join(filter(None, (known["java"], known["java_options"])))
    broker = known["kafka_broker_and_clients"]
    return f"Machine: {known['cores']} cores, Java {java}, PySpark {known['pyspark']}, {clients}, broker {broker}."


def machine_with_memory(known: Mapping[str, Any]) -> str:
    """Return the machine and the versions of a run of the whole pipeline, as a list in words."""
    return (
        f"{known['cores']} cores, {known['memory_gb']} GiB, PySpark {known['pyspark']}, Kafka connector "
        f"{known['kafka_connector']}, broker {known['kafka_broker_and_clients']}, Java {known['java']}"
    )


def conditions(content: Mapping[str, Any], command: str, unit: str = "", clients: str = "") -> str:
    """Return the sentences above a table, which state the command, date, machine, load, runs and unit."""
    known = content["conditions"]
    rate = f", {known['rate']:,g} records/s" if "rate" in known else ""
    faster = f" (at first {known['warm_up_rate']:,g} records/s)" if known.get("warm_up_rate") else ""
    # The steps of a search have the same fields as runs.
    runs = [*content.get("runs", ()), *content.get("steps", ())]
    sentences = [
        f"Measured with `make {command} PUBLISH=1` on {known['date']}.",
        machine_of(known, clients),
        f"Load: {known['partitions']} partitions{rate}, trigger interval {known['interval_seconds']:g} s.",
        (
            f"Runs: {known['repeats']} per case, each with {known['warm_up_seconds']:g} s of warm-up{faster} "
            f"and {known['duration_seconds']:g} s of measurement."
        ),
    ]
    if foreign_cores := [run["foreign_cores"] for run in runs if "foreign_cores" in run]:
        sentences.append(f"Other programs used at most {max(foreign_cores):.2f} cores.")
    if late := len(content.get("late_runs", ())):
        busy = " or other programs were busy" if "max_foreign_cores" in known else ""
        sentences.append(f"Runs that were repeated because records were sent late{busy}: {late}.")
    return " ".join(filter(None, [*sentences, unit])) + "\n"
