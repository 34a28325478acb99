"""
Measure the CPU that a run takes: this process, and everything that it has started.

What arrive are looks at the process tree, again and again; what leaves is the number of cores that were busy.
Real-time mode keeps up without a word until the machine is full, and latencies of a full machine are queue lengths.
"""

import time
from collections import Counter
from dataclasses import dataclass

import psutil

FULL_SHARE = 0.9
"""A machine that is busier than this answers late for want of CPU."""
LOOK_SECONDS = 1.0
# The first word of its command line that is found here names a process; what is not found is named by its program.
NAMES = {
    "kafka.Kafka": "Kafka",
    "org.apache.spark": "Spark",
    "pyspark.daemon": "Python workers",
    "pyspark.worker": "Python workers",
    "postgres": "PostgreSQL",
    "supervisor.py": "supervisors",
}

Process = tuple[int, float]
"""Process id and the time of its creation."""


@dataclass(frozen=True)
class Cpu:
    """Cores that were busy on average over `seconds`."""

    seconds: float
    cores: int
    """How many the machine has."""
    by_name: dict[str, float]
    """Cores that each part of this run kept busy."""
    machine: float
    """Cores that were busy with anything."""

    @property
    def own(self) -> float:
        """Return the cores that this run kept busy."""
        return sum(self.by_name.values())

    @property
    def is_full(self) -> bool:
        """Tell whether the machine was too busy for its latencies to mean much."""
        return max(self.own, self.machine) > FULL_SHARE * self.cores


class CpuMeter:
    """Adds up CPU time from the first look to the last; a process that ends in between keeps what it had."""

    def __init__(self) -> None:
        """Start with no look."""
        self._looks: list[tuple[float, float]] = []
        self._first: dict[Process, float] = {}
        self._last: dict[Process, float] = {}
        self._names: dict[Process, str] = {}

    def look(self) -> None:
        """Look at the process tree, if the last look is long enough ago."""
        if self._looks and time.monotonic() < self._looks[-1][0] + LOOK_SECONDS:
            return
        self._looks.append((time.monotonic(), _machine_seconds()))
        this = psutil.Process()
        for process in [this, *this.children(recursive=True)]:
            try:
                known, spent = (process.pid, process.create_time()), process.cpu_times()
                if known not in self._names:
                    self._names[known] = "this process" if process == this else _name(process)
            except psutil.Error:
                continue  # it has just ended
            self._last[known] = spent.user + spent.system
            # What was not there at the first look has spent all of its time since then.
            self._first.setdefault(known, self._last[known] if len(self._looks) == 1 else 0.0)

    def result(self) -> Cpu | None:
        """Return what was measured, or None if there were not two looks."""
        if len(self._looks) < 2:
            return None
        (started_at, before), (ended_at, after) = self._looks[0], self._looks[-1]
        seconds, by_name = ended_at - started_at, Counter[str]()
        for process, spent in self._last.items():
            by_name[self._names[process]] += spent - self._first[process]  # type: ignore[assignment]
        cores = {name: spent / seconds for name, spent in by_name.most_common()}
        return Cpu(seconds, psutil.cpu_count() or 1, cores, (after - before) / seconds)


def _machine_seconds() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


def _name(process: psutil.Process) -> str:
    line = " ".join(process.cmdline())
    return next((name for word, name in NAMES.items() if word in line), process.name())
