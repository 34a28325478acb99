"""The result of one benchmark run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from examples.benchmarks.results.boundaries import Boundary
from examples.benchmarks.results.record_times import Times
from examples.benchmarks.results.validity import late_sending

CaseKey = tuple[str, str, str, float]
"""Identifies a case: workload, engine, arrivals and rate."""


@dataclass(frozen=True)
class RunResult:
    """The measurements of one run, and the problems that make the run invalid."""

    numbers: dict[str, Any]
    """Metrics by name. `workload`, `engine`, `arrivals` and `rate` identify the case."""
    problems: list[str]
    """Reasons why the run is invalid. A valid run has no problems."""
    warnings: list[str]
    due_us: Times
    latency_us: Times
    """Time from the due time to the receipt of the output, for each measured record that has an output."""
    boundaries: list[Boundary]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the engine."""
    has_boundaries: bool = False
    """Whether the engine has batch boundaries."""
    progress: tuple[dict[str, Any], ...] = ()
    """Progress of the finished batches, oldest first."""
    late_runs: tuple[dict[str, Any], ...] = ()
    """Results of earlier attempts that do not count, because the machine was too slow to send records on time."""

    def is_only_late(self) -> bool:
        """Return whether late sending is the only problem, so the run should be repeated."""
        return bool(self.problems) and self.problems == late_sending(self.numbers)


def key_of(numbers: Mapping[str, Any]) -> CaseKey:
    """Return the case to which a run belongs."""
    return numbers["workload"], numbers["engine"], numbers["arrivals"], numbers["rate"]


def label_of(numbers: Mapping[str, Any]) -> str:
    """Return the label of a case. The label is also the case's key in the JSON."""
    return f"{numbers['workload']}, {numbers['engine']}, {numbers['rate']:g}/s {numbers['arrivals']}"
