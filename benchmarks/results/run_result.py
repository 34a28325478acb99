"""The result of one benchmark run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.results.boundaries import Boundary
from benchmarks.results.record_times import Times
from benchmarks.results.validity import busy_machine, late_sending

CaseKey = tuple[str, str, float]
"""Identifies a case: workload, engine and rate."""


@dataclass(frozen=True)
class RunResult:
    """The measurements of one run, and the problems that invalidate it."""

    numbers: dict[str, Any]
    """Metrics by name. `workload`, `engine` and `rate` identify the case."""
    problems: list[str]
    """Reasons why the run is invalid."""
    due_us: Times
    latency_us: Times
    """Time from the due time to the receipt of the output, for each measured record with an output."""
    boundaries: list[Boundary]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the engine."""
    has_boundaries: bool = False
    """Whether the engine has batch boundaries."""
    progress: tuple[dict[str, Any], ...] = ()
    """Progress of the finished batches, oldest first."""
    late_runs: tuple[dict[str, Any], ...] = ()
    """Results of earlier, disturbed attempts, which do not count."""

    def is_only_disturbed(self) -> bool:
        """Return whether only the machine caused problems, so the run should be repeated."""
        disturbances = {*late_sending(self.numbers), *busy_machine(self.numbers, 0)}
        return bool(self.problems) and set(self.problems) <= disturbances


def key_of(numbers: Mapping[str, Any]) -> CaseKey:
    """Return the case to which a run belongs."""
    return numbers["workload"], numbers["engine"], numbers["rate"]


def label_of(numbers: Mapping[str, Any]) -> str:
    """Return a case's label, which is also its key in the JSON."""
    return f"{numbers['workload']}, {numbers['engine']}, {numbers['rate']:g}/s"
