"""
Send records in an open loop and take down when each was due, sent, appended and answered.

A run and its traffic arrive; raw times of every record leave, as whole numbers.
A record that is due while the engine pauses is sent all the same, and its wait counts from when it was due.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from examples.benchmarks.harness.engine import Run
from examples.benchmarks.harness.java_program import client_command
from examples.benchmarks.harness.workloads import ONE_INVALID_OF
from examples.services.child import Child, log_tail, start_child

Arrivals = Literal["constant", "poisson"]
Times = npt.NDArray[np.int64]

HEAP = ("-Xms512m", "-Xmx2g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=10")
COMPILED_AFTER_SECONDS = 20
QUICK_COMPILER = "-XX:TieredStopAtLevel=1"
"""For short runs: the optimising compiler takes seconds of processor time before it gives any back."""
ROW = 5
ROWS_FILE = "rows.bin"


@dataclass(frozen=True)
class Traffic:
    """What is sent in one run."""

    rate: float
    """Records per second."""
    warm_up_seconds: float
    """Records that are due before this are sent but not counted."""
    measured_seconds: float
    arrivals: Arrivals = "constant"
    drain_seconds: float = 30
    """Longest wait for the last answer."""

    @property
    def records(self) -> int:
        """Records of the run, those of the warm-up included."""
        return round(self.rate * (self.warm_up_seconds + self.measured_seconds))


@dataclass(frozen=True)
class Rows:
    """Times of every record by its number; 0 stands for what has not happened."""

    due_us: Times
    sent_us: Times
    appended_ms: Times
    answer_appended_ms: Times
    received_us: Times
    pauses_us: Times
    """By how much a thread of the load program overslept, each time that it slept one millisecond."""

    def measured(self, traffic: Traffic) -> npt.NDArray[np.bool_]:
        """Return which records count: chosen by when they were due, because arrival would hide stalls."""
        chosen: npt.NDArray[np.bool_] = self.due_us >= self.due_us[0] + traffic.warm_up_seconds * 1e6
        return chosen


@contextmanager
def sending(run: Run, traffic: Traffic) -> Iterator[Child]:
    """Yield the load program at work; it ends by itself when the last answer is in or overdue."""
    arguments = [
        *(run.bootstrap_servers, run.source, run.target, run.rejected, run.partitions, run.work),
        *(traffic.records, traffic.rate, traffic.arrivals, traffic.drain_seconds, run.folder / ROWS_FILE),
    ]
    quick = [QUICK_COMPILER] if traffic.warm_up_seconds < COMPILED_AFTER_SECONDS else []
    command = client_command("Load", map(str, arguments), [*HEAP, *quick])
    child = start_child("load program", command, log_path=run.folder / "load.log")
    try:
        yield child
    finally:
        child.stop()


def read_rows(run: Run, traffic: Traffic, load: Child) -> Rows:
    """Return the rows of a load program that has ended; raises RuntimeError when it failed."""
    path: Path = run.folder / ROWS_FILE
    if not path.exists():
        raise RuntimeError(
            f"the load program failed, so nothing was measured. The end of {load.log_path}:\n{log_tail(load.log_path)}"
        )
    numbers = np.fromfile(path, dtype=">i8").astype(np.int64)
    rows, pauses = np.split(numbers, [traffic.records * ROW])
    due, sent, appended, answer_appended, received = rows.reshape(-1, ROW).T
    return Rows(due, sent, appended, answer_appended, received, pauses)


def needs_answer(run: Run, traffic: Traffic) -> npt.NDArray[np.bool_]:
    """Return which records must be answered: an aggregation drops invalid ones."""
    seqs = np.arange(traffic.records)
    return (seqs % ONE_INVALID_OF != ONE_INVALID_OF - 1) if run.work == "stateful" else np.ones_like(seqs, dtype=bool)
