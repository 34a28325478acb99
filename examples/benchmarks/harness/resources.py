"""
Take down what a run used of the machine, and what others used of it meanwhile.

An engine and the time of its run arrive; processor time and memory leave.
On a machine that is full, latency is the length of a queue, so a run in which others took part is worth little.
"""

import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import psutil

from examples.benchmarks.harness.engine import Engine

PERIOD_SECONDS = 1.0
LOOK_AROUND_EVERY = 5
"""Samples: to list all processes takes some milliseconds, which would be seen in the latencies."""
BUSY = ("user", "nice", "system", "irq", "softirq", "steal")


@dataclass
class Samples:
    """Processor seconds since some time before the run, taken down again and again."""

    at: list[float] = field(default_factory=list)
    """Seconds since 1970."""
    engine: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    """Engine, broker, load program and this process."""
    machine: list[float] = field(default_factory=list)
    """Everything that ran."""
    engine_bytes: list[int] = field(default_factory=list)

    def used(self, series: list[float], start: float, end: float) -> float:
        """Return the processor seconds of a series between two times."""
        return float(np.interp(end, self.at, series) - np.interp(start, self.at, series))

    def foreign_cores(self, start: float, end: float) -> float:
        """Return how many cores other programs of this machine kept busy between two times."""
        return max(0.0, (self.used(self.machine, start, end) - self.used(self.ours, start, end)) / (end - start))


@contextmanager
def sampling(engine: Engine) -> Iterator[Samples]:
    """Sample in a thread until the block ends."""
    samples, stop = Samples(), threading.Event()

    def sample() -> None:
        me, number = psutil.Process(os.getpid()), 0
        processes, ours = list[psutil.Process](), list[psutil.Process]()
        while not stop.wait(PERIOD_SECONDS):
            if number % LOOK_AROUND_EVERY == 0:
                processes, ours = list(_processes(engine.pids())), [me, *me.children(recursive=True)]
            number += 1
            samples.at.append(time.time())
            samples.engine.append(_cpu_seconds(processes))
            samples.ours.append(_cpu_seconds(ours))
            times = psutil.cpu_times()
            samples.machine.append(sum(getattr(times, name, 0.0) for name in BUSY))
            samples.engine_bytes.append(_resident_bytes(processes))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()


def _processes(pids: Iterable[int]) -> Iterator[psutil.Process]:
    for pid in pids:
        try:
            yield psutil.Process(pid)
        except psutil.NoSuchProcess:
            continue


def _cpu_seconds(processes: Iterable[psutil.Process]) -> float:
    seconds = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        seconds += times.user + times.system
    return seconds


def _resident_bytes(processes: Iterable[psutil.Process]) -> int:
    total = 0
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total
