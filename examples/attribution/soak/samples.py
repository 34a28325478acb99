"""
Sample memory, open files and connections, threads, state and checkpoint files during a long run.

A sample is a dictionary of groups. Each group maps a part of the run, such as `Kafka` or the name of a query, to a
number.
"""

import gc
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from pyspark.sql import SparkSession

from spark_rtm.measure.cpu import machine_seconds, name_of, process_tree

MIB = 2**20
Sample = dict[str, Any]
"""A sample: `seconds` since the first one, and a group for each other key."""


@contextmanager
def sampling(take: Callable[[], Sample], path: Path, period_seconds: float) -> Iterator[list[Sample]]:
    """
    Call `take` every `period_seconds` in a thread until the block ends, and append each sample to `path` as JSON.

    An error of `take` ends the sampling, and is raised at the end of the block.
    """
    samples, stop, started_at = list[Sample](), threading.Event(), time.monotonic()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")

    def run() -> None:
        while not stop.wait(period_seconds):
            samples.append({"seconds": round(time.monotonic() - started_at, 1), **take()})
            with path.open("a") as file:
                file.write(json.dumps(samples[-1]) + "\n")

    with ThreadPoolExecutor(1) as threads:
        sampled = threads.submit(run)
        try:
            yield samples
        finally:
            stop.set()
        sampled.result()


def sample(spark: SparkSession, checkpoints: Path) -> Sample:
    """Return the current resources of this process, its children and the queries of the session."""
    # The audit keeps every record of the run. Without this call, Python's garbage collector would search all of them
    # again and again, which delays the sender of the traffic.
    gc.freeze()
    return {**_processes(), **_jvm(spark), **_queries(spark), **_files(checkpoints)}


def _processes() -> Sample:
    memory, handles, cpu = Counter[str](), Counter[str](), Counter[str]()
    for process in process_tree([os.getpid()]):
        with suppress(psutil.Error):
            with process.oneshot():
                name = "driver and audit" if process.pid == os.getpid() else name_of(process)
                times = process.cpu_times()
                memory[name] += process.memory_info().rss
                handles[name] += process.num_fds()
            cpu[name] += times.user + times.system  # type: ignore[assignment]
    return {
        "memory_mib": {name: round(size / MIB, 1) for name, size in memory.items()},
        "handles": dict(handles),
        "cpu_seconds": {name: round(seconds, 2) for name, seconds in cpu.items()},
        "machine_cpu_seconds": {"all programs": round(machine_seconds(), 2)},
    }


def _jvm(spark: SparkSession) -> Sample:
    beans = spark._jvm.java.lang.management.ManagementFactory  # type: ignore[union-attr] # noqa: SLF001 - PySpark has no public API for the JVM
    memory = beans.getMemoryMXBean()
    used = {"heap": memory.getHeapMemoryUsage(), "non-heap": memory.getNonHeapMemoryUsage()}
    return {
        "jvm_mib": {name: round(usage.getUsed() / MIB, 1) for name, usage in used.items()},
        "jvm_threads": {"Spark": beans.getThreadMXBean().getThreadCount()},
        "jvm_classes": {"Spark": beans.getClassLoadingMXBean().getLoadedClassCount()},
    }


def _queries(spark: SparkSession) -> Sample:
    rows, memory, batches = Counter[str](), Counter[str](), dict[str, int]()
    for query in spark.streams.active:
        progress = query.lastProgress
        if progress is None:
            continue
        batches[str(query.name)] = progress.batchId
        for operator in progress.stateOperators:
            rows[str(query.name)] += operator.numRowsTotal
            memory[str(query.name)] += operator.memoryUsedBytes
    return {
        "state_rows": dict(rows),
        "state_mib": {name: round(size / MIB, 4) for name, size in memory.items()},
        "batches": batches,
    }


def _files(checkpoints: Path) -> Sample:
    files, sizes = Counter[str](), Counter[str]()
    for folder, _, names in os.walk(checkpoints):
        relative = Path(folder).relative_to(checkpoints)
        query = relative.parts[0] if relative.parts else ""
        for name in names:
            with suppress(FileNotFoundError):
                sizes[query] += (Path(folder) / name).stat().st_size
                files[query] += 1
    return {"checkpoint_files": dict(files), "checkpoint_mib": {name: round(n / MIB, 2) for name, n in sizes.items()}}
