"""
Limit the work for one file: its seconds of processor time, and the steps that its code or its document needs.

The number of steps also limits the memory, because each copied entry of a list or dictionary counts as one step.
`TotalTime` limits the work for all files: otherwise 1,000 slow files would take more than an hour.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

MAX_SECONDS = 4.3
MAX_TOTAL_SECONDS = 60.0
"""The limit for all files of one process. Ordinary files take milliseconds."""
MAX_STEPS = 1_000_000


class ExhaustedError(Exception):
    """Raised if the steps of a file are used up."""


class OutOfTimeError(Exception):
    """Raised if the seconds of a file are used up."""


class Steps:
    """Counts the steps that are left for one piece of code or one document."""

    def __init__(self, limit: int = MAX_STEPS) -> None:
        self.left = limit

    def spend(self, count: int = 1) -> None:
        """Count steps, and raise ExhaustedError if none are left."""
        self.left -= count
        if self.left < 0:
            raise ExhaustedError


class TotalTime:
    """Counts the processor time of this process, and in a copy of it that of the copy."""

    def __init__(self) -> None:
        self.pid, self.before = os.getpid(), time.process_time()

    def is_over(self) -> bool:
        """Return whether the time of all files is used up."""
        before = self.before if os.getpid() == self.pid else 0.0
        return time.process_time() - before > MAX_TOTAL_SECONDS


@contextmanager
def time_limit(seconds: float = MAX_SECONDS) -> Iterator[None]:
    """
    Raise OutOfTimeError if the body takes more than `seconds` of processor time.

    Python's garbage collector pauses. Otherwise it would search large syntax trees again and again, half of the time.
    The limit needs interval timers, which Windows lacks, and signals, which only the main thread receives.
    Elsewhere, only the steps are limited. A limit inside of another one has no effect.
    """
    with _without_garbage_collection(), _alarm(seconds):
        yield


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    is_main = threading.current_thread() is threading.main_thread()
    if not hasattr(signal, "setitimer") or not is_main or any(signal.getitimer(signal.ITIMER_PROF)):
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGPROF, stop)
    try:
        # The timer fires again after the first time, in case the exception occurs where Python ignores exceptions.
        signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
