"""The result of one benchmark run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from examples.benchmarks.results.boundaries import Boundary
from examples.benchmarks.results.record_times import Times
from examples.benchmarks.results.validity import late_sending

CaseKey = tuple[str, str, str, float]
"""Workload, engine, arrivals and rate."""


@dataclass(frozen=True)
class RunResult:
    """What one run measured, and whether it is valid."""

    numbers: dict[str, Any]
    """Named results; `workload`, `engine`, `arrivals` and `rate` identify the case."""
    problems: list[str]
    """Reasons why the run is invalid; empty for a valid run."""
    warnings: list[str]
    due_us: Times
    latency_us: Times
    """From due to received, for each measured record that was answered."""
    boundaries: list[Boundary]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the engine."""
    has_boundaries: bool = False
    """Whether the engine has batch boundaries."""
    late_runs: tuple[dict[str, Any], ...] = ()
    """Numbers of earlier attempts that do not count, because the machine was too slow to send on time."""

    def is_only_late(self) -> bool:
        """Return whether late sending is the only problem, which makes a repetition worthwhile."""
        return bool(self.problems) and self.problems == late_sending(self.numbers)


def key_of(numbers: Mapping[str, Any]) -> CaseKey:
    """Return the case to which a run belongs."""
    return numbers["workload"], numbers["engine"], numbers["arrivals"], numbers["rate"]


def label_of(numbers: Mapping[str, Any]) -> str:
    """Return the label of a case, which is also its key in the JSON."""
    return f"{numbers['workload']}, {numbers['engine']}, {numbers['rate']:g}/s {numbers['arrivals']}"
