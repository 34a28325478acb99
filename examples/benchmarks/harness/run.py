"""
Do one run: fresh topics, an engine, traffic, every answer against the replay, and what the run was worth.

A cell of the plan arrives; its numbers leave, with everything that makes the run invalid.
A run is short against the interval that production uses, so it must hold several batch boundaries to be honest.
"""

import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from examples.benchmarks.harness.engine import Start, fresh_run
from examples.benchmarks.harness.load_generator import Rows, Traffic, needs_answer, read_rows, sending
from examples.benchmarks.harness.resources import Samples, sampling
from examples.benchmarks.harness.verify import Verdict, verify
from examples.benchmarks.harness.workloads import Work
from examples.benchmarks.results.boundaries import Boundary, boundaries, gap_ms, median_phases
from examples.benchmarks.results.metrics import generator, latencies, resources
from examples.benchmarks.results.validity import problems, sent_late

TICK_SECONDS = 0.5


@dataclass(frozen=True)
class Cell:
    """One engine with one work; what is compared with others."""

    name: str
    """Of the engine, as tables show it."""
    work: Work
    start: Start
    intervals: Mapping[str, float] = field(default_factory=dict)
    """Trigger intervals in seconds by query name; empty for an engine without batch boundaries."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How it was set, for the record."""
    partitions: int | None = None
    """Of each topic, where this differs from the rest of the plan."""


@dataclass(frozen=True)
class Trial:
    """What one run has shown."""

    cell: Cell
    traffic: Traffic
    numbers: dict[str, Any]
    problems: list[str]
    """What makes it invalid; empty for a good run."""
    warnings: list[str]
    due_us: npt.NDArray[np.int64]
    latency_us: npt.NDArray[np.int64]
    """Of each measured record that was answered, from when it was due until its answer was received."""
    boundaries: list[Boundary]
    late: tuple[dict[str, Any], ...] = ()
    """Numbers of the runs before this one that do not count, because the machine was too slow to send on time."""

    def is_late(self) -> bool:
        """Tell whether only late sending makes it invalid, so that it is worth doing again."""
        return bool(self.problems) and self.problems == sent_late(self.numbers)


def run_trial(
    bootstrap_servers: str, cell: Cell, traffic: Traffic, partitions: int = 2, tick: Callable[[], None] = lambda: None
) -> Trial:
    """Do one run; `tick` is called twice a second. Raises RuntimeError when engine or load program fails."""
    pause = threading.Event()
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        fresh_run(bootstrap_servers, cell.work, cell.partitions or partitions, Path(folder)) as run,
    ):
        with cell.start(run) as engine, sampling(engine) as samples, sending(run, traffic) as load:
            while load.is_running():
                engine.raise_if_failed()
                tick()
                pause.wait(TICK_SECONDS)
            rows = read_rows(run, traffic, load)
            progress = engine.progress()
        verdict = verify(run)
        needed = needs_answer(run, traffic)
    return _judged(cell, traffic, rows, needed, samples, verdict, boundaries(progress, cell.intervals))


def _judged(
    cell: Cell,
    traffic: Traffic,
    rows: Rows,
    needed: npt.NDArray[np.bool_],
    samples: Samples,
    verdict: Verdict,
    found: list[Boundary],
) -> Trial:
    counted = rows.measured(traffic) & needed & (rows.received_us > 0)
    due, latency = rows.due_us[counted], (rows.received_us - rows.due_us)[counted]
    start, end = rows.due_us[rows.measured(traffic)][[0, -1]] / 1e6
    inside = [boundary for boundary in found if start <= boundary.due_at and boundary.ended_at <= end]
    numbers = {
        **_identity(cell, traffic),
        **latencies(rows, counted),
        **generator(rows, traffic),
        "missing": int((needed & (rows.received_us == 0)).sum()),
        "wrong": verdict.wrong,
        "outputs_per_record": round(verdict.outputs / int(needed.sum()), 3),
        "boundaries": len(inside),
        "gaps_ms": [round(gap_ms(boundary, due, latency), 1) for boundary in inside],
        "phases_ms": median_phases(inside),
        **resources(samples, start, end, len(due)),
    }
    wrong, doubtful = problems(numbers, verdict.examples, has_boundaries=bool(cell.intervals))
    return Trial(cell, traffic, numbers, wrong, doubtful, due, latency, inside)


def _identity(cell: Cell, traffic: Traffic) -> dict[str, Any]:
    return {"work": cell.work, "engine": cell.name, "rate": traffic.rate, "arrivals": traffic.arrivals}
