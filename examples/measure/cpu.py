"""
Measure the CPU time of process trees and of the whole machine.

Above 90% CPU load, latencies show how long records wait in queues, not how fast the engine is.
"""

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import psutil

MAX_BUSY_SHARE = 0.9
"""Above this CPU load, latencies show how long records wait in queues."""
SAMPLE_SECONDS = 1.0
LIST_EVERY_SAMPLES = 5
"""Processes are listed only in every n-th sample. Listing takes several milliseconds, which increases latencies."""
BUSY_TIMES = ("user", "nice", "system", "irq", "softirq", "steal")
# A process is named after the first of these texts that its command line contains, or else after its program.
NAMES = {
    "kafka.Kafka": "Kafka",
    "org.apache.spark": "Spark",
    "pyspark.daemon": "Python workers",
    "pyspark.worker": "Python workers",
    "postgres": "PostgreSQL",
    "supervisor.py": "supervisors",
}

ProcessKey = tuple[int, float]
"""Process id and creation time of a process."""


@dataclass(frozen=True)
class Cpu:
    """Average number of busy cores over a period."""

    seconds: float
    cores: int
    """Number of cores of the machine."""
    by_name: dict[str, float]
    """Cores used by each part of this run."""
    machine: float
    """Cores used by all programs of the machine."""

    @property
    def run(self) -> float:
        """Return the average number of cores used by this run."""
        return sum(self.by_name.values())

    @property
    def is_full(self) -> bool:
        """Return whether the machine was too busy for meaningful latencies."""
        return max(self.run, self.machine) > MAX_BUSY_SHARE * self.cores


class CpuMeter:
    """Adds up the CPU time of this process and its descendants. An ended process counts with its last value."""

    def __init__(self) -> None:
        """Create a meter without samples."""
        self._samples: list[tuple[float, float]] = []
        self._first: dict[ProcessKey, float] = {}
        self._last: dict[ProcessKey, float] = {}
        self._names: dict[ProcessKey, str] = {}

    def sample(self) -> None:
        """Sample the process tree, unless the last sample is less than `SAMPLE_SECONDS` old."""
        if self._samples and time.monotonic() < self._samples[-1][0] + SAMPLE_SECONDS:
            return
        self._samples.append((time.monotonic(), machine_seconds()))
        for process in process_tree([os.getpid()]):
            try:
                key, seconds = (process.pid, process.create_time()), _cpu_seconds(process)
                if key not in self._names:
                    self._names[key] = "this process" if process.pid == os.getpid() else name_of(process)
            except psutil.Error:
                continue  # the process has just ended
            self._last[key] = seconds
            # If a process is missing in the first sample, all its CPU time was used after that sample.
            self._first.setdefault(key, self._last[key] if len(self._samples) == 1 else 0.0)

    def result(self) -> Cpu | None:
        """Return the averages between the first and the last sample, or None if there are fewer than two samples."""
        if len(self._samples) < 2:
            return None
        (started_at, before), (ended_at, after) = self._samples[0], self._samples[-1]
        seconds, by_name = ended_at - started_at, Counter[str]()
        for key, spent in self._last.items():
            by_name[self._names[key]] += spent - self._first[key]  # type: ignore[assignment]
        cores = {name: spent / seconds for name, spent in by_name.most_common()}
        return Cpu(seconds, psutil.cpu_count() or 1, cores, (after - before) / seconds)


@dataclass
class ResourceSamples:
    """CPU seconds and memory of an engine, this process and the machine, sampled once per second."""

    at: list[float] = field(default_factory=list)
    """Seconds since 1970."""
    engine: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    """This process and its descendants: engine, broker and load generator."""
    machine: list[float] = field(default_factory=list)
    """All programs of the machine."""
    engine_bytes: list[int] = field(default_factory=list)

    def used(self, series: list[float], start: float, end: float) -> float:
        """Return the CPU seconds recorded in `series` between two times."""
        return float(np.interp(end, self.at, series) - np.interp(start, self.at, series))

    def foreign_cores(self, start: float, end: float) -> float:
        """Return the average number of cores that other programs used between two times."""
        return max(0.0, (self.used(self.machine, start, end) - self.used(self.ours, start, end)) / (end - start))


@contextmanager
def sampling(engine_pids: Callable[[], Iterable[int]]) -> Iterator[ResourceSamples]:
    """Sample an engine, this process and the machine in a thread until the block ends."""
    samples, stop = ResourceSamples(), threading.Event()

    def sample() -> None:
        engine, ours = list[psutil.Process](), list[psutil.Process]()
        while not stop.wait(SAMPLE_SECONDS):
            if len(samples.at) % LIST_EVERY_SAMPLES == 0:
                engine, ours = list(process_tree(engine_pids())), list(process_tree([os.getpid()]))
            samples.at.append(time.time())
            samples.engine.append(sum(_of_running(engine, _cpu_seconds)))
            samples.ours.append(sum(_of_running(ours, _cpu_seconds)))
            samples.machine.append(machine_seconds())
            samples.engine_bytes.append(int(sum(_of_running(engine, _resident_bytes))))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()


def process_tree(pids: Iterable[int]) -> Iterator[psutil.Process]:
    """Yield the running processes of `pids` and their descendants, each process once."""
    seen = set[int]()
    for pid in pids:
        try:
            root = psutil.Process(pid)
            processes = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        yield from (process for process in processes if process.pid not in seen)
        seen.update(process.pid for process in processes)


def machine_seconds() -> float:
    """Return the CPU seconds that all cores have been busy since the machine started."""
    times = psutil.cpu_times()
    return float(sum(getattr(times, name, 0.0) for name in BUSY_TIMES))


def _of_running(processes: Iterable[psutil.Process], value_of: Callable[[psutil.Process], float]) -> Iterator[float]:
    for process in processes:
        try:
            yield value_of(process)
        except psutil.NoSuchProcess:
            continue


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _resident_bytes(process: psutil.Process) -> float:
    return float(process.memory_info().rss)


def name_of(process: psutil.Process) -> str:
    """Return the part of a run to which a process belongs, for example `Kafka`."""
    command = " ".join(process.cmdline())
    return next((name for word, name in NAMES.items() if word in command), process.name())
