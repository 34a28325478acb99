"""The result of one benchmark run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.results.boundaries import Boundary
from benchmarks.results.record_times import Times
from benchmarks.results.validity import busy_machine, late_sending

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
    """Results of earlier attempts that do not count, because the machine was too slow or used by other programs."""

    def is_only_disturbed(self) -> bool:
        """Return whether the machine caused all problems, not the engine, so the run should be repeated."""
        disturbances = {*late_sending(self.numbers), *busy_machine(self.numbers, 0)}
        return bool(self.problems) and set(self.problems) <= disturbances


def key_of(numbers: Mapping[str, Any]) -> CaseKey:
    """Return the case to which a run belongs."""
    return numbers["workload"], numbers["engine"], numbers["arrivals"], numbers["rate"]


def label_of(numbers: Mapping[str, Any]) -> str:
    """Return the label of a case. The label is also the case's key in the JSON."""
    return f"{numbers['workload']}, {numbers['engine']}, {numbers['rate']:g}/s {numbers['arrivals']}"
