"""Describe the conditions of a measurement: machine, software versions and options."""

from dataclasses import asdict
from typing import Any

from benchmarks.harness.cli import BenchmarkOptions
from spark_rtm.measure.machine import describe_machine


def conditions(options: BenchmarkOptions) -> dict[str, Any]:
    """Return the conditions that affect the results of all engines. The settings of each engine are not included."""
    values = {name: value for name, value in asdict(options).items() if name not in {"filter", "publish"}}
    values["duration_seconds"] = values.pop("duration")
    if isinstance(values.get("rate"), tuple):
        values["rates"] = values.pop("rate")
    return {**describe_machine(), **values}
