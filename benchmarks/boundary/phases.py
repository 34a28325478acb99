"""
Split the longest wait of a record at a batch boundary into named phases.

Phases overlap, because the tasks of both stages start at the same time. Each millisecond of the wait counts for the
first phase that covers it, or as unexplained.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.boundary import trace
from benchmarks.boundary.trace import Mark
from benchmarks.results.record_times import RecordTimes

BEFORE_MS = 1_000
"""Time before a batch's deadline at which the search for the slowest record begins."""
UNEXPLAINED = "unexplained"
DRIVER, SOURCE, STATE, RECORD = "driver", "source tasks", "state tasks", "record"
PHASES = {
    "append the record": RECORD,
    "stop reading": SOURCE,
    "end the tasks, commit state": STATE,
    "end the job": DRIVER,
    "write commit log": DRIVER,
    "report progress, read offsets": DRIVER,
    "plan the query": DRIVER,
    "prepare the job": DRIVER,
    "submit the job": DRIVER,
    "start source tasks": SOURCE,
    "first fetch": SOURCE,
    "launch state tasks": DRIVER,
    "start state tasks": STATE,
    "load state": STATE,
    "connect the shuffle": STATE,
    "first result": RECORD,
    "drain the queue": RECORD,
}
"""The phases in order, each with the part of the query that does the work."""


@dataclass(frozen=True)
class Explained:
    """The slowest record at one batch boundary, and its phases in ms since the record was due."""

    batch: int
    wait_ms: float
    spans: dict[str, tuple[float, float]]

    def shares(self) -> dict[str, float]:
        """Return each phase's part of the wait, and the unexplained rest. The sum is the wait."""
        shares, free = {}, [(0.0, self.wait_ms)]
        for name in PHASES:
            start, end = self.spans[name]
            rest = [piece for low, high in free for piece in _without(low, high, start, end)]
            shares[name] = _length(free) - _length(rest)
            free = rest
        return shares | {UNEXPLAINED: _length(free)}


def explain(marks: Sequence[Mark], times: RecordTimes) -> list[Explained]:
    """Explain each boundary of the traffic, except those without a complete trace."""
    commits = [number for number, mark in enumerate(marks) if mark.step == trace.COMMITTED]
    found = list[Explained]()
    # The marks of a boundary are between the middle of the batch before and the middle of the batch after.
    for before, commit, after in zip([-1, *commits], commits, [*commits[1:], len(marks)], strict=False):
        try:
            found += _explained(marks[before + 1 : commit], marks[commit:after], times)
        except ValueError:
            continue
    return found


def _explained(old: Sequence[Mark], new: Sequence[Mark], times: RecordTimes) -> Iterator[Explained]:
    deadline_ms = max(mark.deadline_ms for mark in old if mark.step == trace.READER_CREATED)
    launched = [mark for mark in new if mark.step == trace.TASK_LAUNCHED]
    source_stage, state_stage = sorted({mark.stage for mark in launched})
    ended, finished = _at(old, trace.READING_ENDED), _at(old, trace.TASK_FINISHED)
    job_finished, committed = max(_at(old, trace.JOB_FINISHED)), new[0].at_ms
    triggered, planned, started = (min(_at(new, step)) for step in (trace.TRIGGERED, trace.PLANNED, trace.JOB_STARTED))
    launch, state_launch = (
        min(mark.at_ms for mark in launched if mark.stage == stage) for stage in (source_stage, state_stage)
    )
    readers, first_read = max(_at(new, trace.READER_CREATED)), max(_at(new, trace.FIRST_RECORD))
    loading, loaded = min(_at(new, trace.STATE_LOADING)), max(_at(new, trace.STATE_LOADED))
    connected = max(_at(new, trace.CONNECTED))
    waiting = _waiting(times, deadline_ms, first_read, launch)
    slowest = int(waiting[np.argmax((times.received_us - times.due_us)[waiting])])
    due_ms, received_ms = float(times.due_us[slowest]) / 1000, float(times.received_us[slowest]) / 1000
    first_result = float(times.answer_appended_ms[waiting].min())
    ready = max(first_read, loaded, connected)
    spans = {
        "append the record": (due_ms, float(times.appended_ms[slowest])),
        "stop reading": (deadline_ms, max(ended)),
        "end the tasks, commit state": (min(ended), max(finished)),
        "end the job": (max(finished), job_finished),
        "write commit log": (job_finished, committed),
        "report progress, read offsets": (committed, triggered),
        "plan the query": (triggered, planned),
        "prepare the job": (planned, started),
        "submit the job": (started, launch),
        "start source tasks": (launch, readers),
        "first fetch": (readers, first_read),
        "launch state tasks": (launch, state_launch),
        "start state tasks": (state_launch, loading),
        "load state": (loading, loaded),
        "connect the shuffle": (loaded, connected),
        "first result": (ready, first_result),
        "drain the queue": (first_result, received_ms),
    }
    yield Explained(
        batch=new[0].batch,
        wait_ms=received_ms - due_ms,
        spans={name: (start - due_ms, max(start, end) - due_ms) for name, (start, end) in spans.items()},
    )


def _waiting(times: RecordTimes, deadline_ms: int, first_read_ms: int, launch_ms: int) -> npt.NDArray[np.int64]:
    """Return the indices of records that were due near a boundary and whose results were written after it."""
    is_near = (times.due_us >= (deadline_ms - BEFORE_MS) * 1000) & (times.due_us <= first_read_ms * 1000)
    waiting = np.flatnonzero(is_near & (times.received_us > 0) & (times.answer_appended_ms >= launch_ms))
    if not len(waiting):
        raise ValueError("no record waited at this boundary")
    return waiting


def _at(marks: Iterable[Mark], step: str) -> list[int]:
    found = [mark.at_ms for mark in marks if mark.step == step]
    if not found:
        raise ValueError(f"the trace of this boundary lacks the step {step!r}")
    return found


def _without(low: float, high: float, start: float, end: float) -> Iterator[tuple[float, float]]:
    """Yield the parts of an interval that are outside another interval."""
    if low < min(high, start):
        yield low, min(high, start)
    if max(low, end) < high:
        yield max(low, end), high


def _length(pieces: Iterable[tuple[float, float]]) -> float:
    return sum(high - low for low, high in pieces)
