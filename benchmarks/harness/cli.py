"""
Command-line options of all benchmarks, and the conditions that they set.

A real-time run must last several trigger intervals, so that it contains several batch boundaries.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from spark_rtm.measure.machine import describe_machine

QUICK_RUN: Mapping[str, Any] = {"duration": 9, "warm_up_seconds": 12, "interval_seconds": 2, "repeats": 1}
"""Values of `--quick` that replace the defaults."""


@dataclass(frozen=True)
class BenchmarkOptions:
    """Options of every benchmark."""

    duration: float = 60
    """Seconds of measured traffic in each run."""
    quick: bool = False
    """Run a short version of the benchmark."""
    publish: bool = False
    """Write the results to references/measured if all runs are valid."""


@dataclass(frozen=True)
class CaseOptions(BenchmarkOptions):
    """Options of benchmarks with several cases."""

    filter: tuple[str, ...] = ()
    """Run only cases whose `workload, engine` contains TEXT (repeatable)."""

    def is_selected(self, workload: str, engine: str) -> bool:
        """Return whether `--filter` selects a case."""
        return not self.filter or any(text in f"{workload}, {engine}" for text in self.filter)


@dataclass(frozen=True)
class RunOptions(CaseOptions):
    """Options of benchmarks that run engines. Each program overrides the defaults."""

    duration: float = 60
    """Seconds of measured traffic in each run. Use at least 3.5 trigger intervals for enough batch boundaries."""
    warm_up_seconds: float = 100
    """
    Seconds of traffic before the measured part. Use more than one trigger interval.

    At the first batch boundary, the JVM has not compiled the code of the boundary yet. A new aggregation starts slowly
    and must also process the records that have queued up. The p50 of an aggregation was still 1.6 s after 6 s of
    traffic, and 16 ms after 12 s.
    """
    interval_seconds: float = 12
    """Trigger interval of real-time mode in seconds."""
    repeats: int = 3
    """Number of runs per case. Each repeat begins with another case."""
    partitions: int = 2
    """Number of partitions per topic."""
    max_late_runs: int = 2
    """
    Maximum number of times that a run with late records is repeated.

    If all repetitions are late, the engine leaves the load generator no CPU time, and the result is invalid.
    """


def conditions(options: BenchmarkOptions) -> dict[str, Any]:
    """Return the conditions of all engines, without their settings."""
    values = {name: value for name, value in asdict(options).items() if name not in {"filter", "publish"}}
    values["duration_seconds"] = values.pop("duration")
    if isinstance(values.get("rate"), tuple):
        values["rates"] = values.pop("rate")
    return {**describe_machine(), **values}
