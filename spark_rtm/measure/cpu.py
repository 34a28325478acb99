"""
Measure the CPU time of process trees, other programs and the whole machine, and describe the machine.

Above 90% CPU load, latencies reflect queueing rather than the engine's speed.
"""

import os
import platform
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
import psutil

from spark_rtm.services import broker_jars, connector, java_home

MAX_BUSY_SHARE = 0.9
"""CPU load above which latencies mainly reflect queueing."""
SAMPLE_SECONDS = 1.0
LIST_EVERY_SAMPLES = 5
"""Number of samples between process listings, which take milliseconds and increase latencies."""
BUSY_TIMES = ("user", "nice", "system", "irq", "softirq", "steal")
KERNEL_PARENT = 2
"""Process id of `kthreadd`, the parent of all kernel threads on Linux."""
# A process gets the name of the first string that occurs in its command line, or else its program's name.
NAMES = {
    "kafka.Kafka": "Kafka",
    "org.apache.spark": "Spark",
    "pyspark.daemon": "Python workers",
    "pyspark.worker": "Python workers",
    "postgres": "PostgreSQL",
    "supervisor.py": "supervisors",
}

ProcessKey = tuple[int, float]
"""Process id and creation time."""


@dataclass(frozen=True)
class Cpu:
    """Average numbers of busy cores over a period."""

    seconds: float
    cores: int
    """Number of cores in the machine."""
    by_name: dict[str, float]
    """Busy cores by part of this run."""
    machine: float
    """Busy cores of the whole machine."""

    @property
    def run(self) -> float:
        """Return the average number of cores that this run used."""
        return sum(self.by_name.values())

    @property
    def is_full(self) -> bool:
        """Return whether the CPU load was too high for meaningful latencies."""
        return max(self.run, self.machine) > MAX_BUSY_SHARE * self.cores


class CpuMeter:
    """Meter for the CPU time of this process and its descendants. A finished process keeps its last value."""

    def __init__(self) -> None:
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
            # A process that is missing in the first sample used all its CPU time later.
            self._first.setdefault(key, self._last[key] if len(self._samples) == 1 else 0.0)

    def result(self) -> Cpu | None:
        """Return the averages between the first and last samples, or None for fewer than two samples."""
        if len(self._samples) < 2:
            return None
        (started_at, before), (ended_at, after) = self._samples[0], self._samples[-1]
        seconds, by_name = ended_at - started_at, Counter[str]()
        for key, spent in self._last.items():
            by_name[self._names[key]] += spent - self._first[key]  # type: ignore[assignment]
        cores = {name: spent / seconds for name, spent in by_name.most_common()}
        return Cpu(seconds, psutil.cpu_count() or 1, cores, (after - before) / seconds)


class OtherPrograms:
    """Meter for the CPU seconds of all programs except this process and its descendants."""

    def __init__(self) -> None:
        self._before, self._used = _times_of_others(), 0.0

    def used(self) -> float:
        """Return the CPU seconds that other programs have used since this meter was created."""
        after = _times_of_others()
        # Some systems discard a finished program's CPU time, so the sum can decrease while other programs are busy.
        running = sum(max(0.0, after[key][0] - self._before[key][0]) for key in after.keys() & self._before.keys())
        self._used += max(_total(after) - _total(self._before), running)
        self._before = after
        return self._used


@dataclass
class ResourceSamples:
    """CPU seconds and memory of an engine, and CPU seconds of other programs, sampled once per second."""

    at: list[float] = field(default_factory=list)
    """Sample times in seconds since 1970."""
    engine: list[float] = field(default_factory=list)
    engine_bytes: list[int] = field(default_factory=list)
    listed_at: list[float] = field(default_factory=list)
    """Times at which all processes were listed."""
    others: list[float] = field(default_factory=list)
    """CPU seconds of programs outside this run, at the times in `listed_at`."""

    def list_others(self, programs: OtherPrograms) -> None:
        """List all processes, which takes milliseconds, and add up the CPU time of other programs."""
        self.listed_at.append(time.time())
        self.others.append(programs.used())

    def engine_seconds(self, start: float, end: float) -> float:
        """Return the engine's CPU seconds between two times."""
        return _increase(self.at, self.engine, start, end)

    def foreign_cores(self, start: float, end: float) -> float:
        """Return the average number of cores that other programs used between two times."""
        return _increase(self.listed_at, self.others, start, end) / (end - start)


@contextmanager
def sampling(engine_pids: Callable[[], Iterable[int]]) -> Iterator[ResourceSamples]:
    """Sample an engine and all other programs in a thread until the block ends."""
    samples, stop, programs = ResourceSamples(), threading.Event(), OtherPrograms()

    def sample() -> None:
        engine = list[psutil.Process]()
        while not stop.wait(SAMPLE_SECONDS):
            if len(samples.at) % LIST_EVERY_SAMPLES == 0:
                engine = list(process_tree(engine_pids()))
                samples.list_others(programs)
            samples.at.append(time.time())
            samples.engine.append(sum(_of_running(engine, _cpu_seconds)))
            samples.engine_bytes.append(int(sum(_of_running(engine, _resident_bytes))))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()
        samples.list_others(programs)


def process_tree(pids: Iterable[int]) -> Iterator[psutil.Process]:
    """Yield the running processes of `pids` and their descendants, each once."""
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
    """Return the busy seconds of all cores since the machine started."""
    times = psutil.cpu_times()
    return float(sum(getattr(times, name, 0.0) for name in BUSY_TIMES))


def _times_of_others() -> dict[ProcessKey, tuple[float, float]]:
    """Return the CPU seconds of each other program, including its finished children."""
    found = {}
    for process in other_programs():
        try:
            times, key = process.cpu_times(), (process.pid, process.create_time())
        except psutil.Error:
            continue  # the process has just ended
        found[key] = times.user + times.system, times.children_user + times.children_system
    return found


def _total(times: dict[ProcessKey, tuple[float, float]]) -> float:
    return sum(own + ended for own, ended in times.values())


def other_programs() -> list[psutil.Process]:
    """
    Return all processes except this one, its descendants and kernel threads.

    Kernel threads also work for this run, for example when they free memory. The whole machine's CPU time includes
    kernel threads, and is inexact: it was 0.05 cores on a Linux machine whose processes used 1.0 (2026-11-25).
    """
    ours = {process.pid for process in process_tree([os.getpid()])}
    if psutil.pid_exists(KERNEL_PARENT) and psutil.Process(KERNEL_PARENT).name() == "kthreadd":
        ours |= {process.pid for process in process_tree([KERNEL_PARENT])}
    return [process for process in psutil.process_iter() if process.pid not in ours]


def _increase(at: list[float], series: list[float], start: float, end: float) -> float:
    return float(np.interp(end, at, series) - np.interp(start, at, series))


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
    """Return the name of the program to which a process belongs, for example `Kafka`."""
    command = " ".join(process.cmdline())
    return next((name for word, name in NAMES.items() if word in command), process.name())


def describe_machine() -> dict[str, Any]:
    """Return the date, the machine and the versions of Java, Python, Spark and Kafka."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": psutil.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "java": _java_version(),
        "java_options": os.environ.get("JDK_JAVA_OPTIONS", ""),
        "python": platform.python_version(),
        "pyspark": version("pyspark"),
        "kafka_connector": connector().version,
        "kafka_broker_and_clients": next(
            jar.stem.removeprefix("kafka-clients-") for jar in broker_jars() if jar.stem.startswith("kafka-clients-")
        ),
    }


def _java_version() -> str:
    command = [str(java_home() / "bin" / "java"), "-version"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return next(line.split('"')[1] for line in answer.stderr.splitlines() if "version" in line)
