"""Find and pause processes of the run."""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

import psutil

from spark_rtm.realtime.queries import wait_until

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
WORKER = "org.apache.spark.deploy.worker.Worker"
JVM_OF_DRIVER = "org.apache.spark.deploy.SparkSubmit"
FIND_SECONDS = 60.0


def family(pid: int) -> list[psutil.Process]:
    """Return a process and its descendants."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def find(main_class: str, pid: int | None = None, count: int = 1) -> list[psutil.Process]:
    """Wait for `count` descendants of a process (default: this one) that run a Java class. Return the oldest first."""
    parent = psutil.Process(pid)
    wait_until(lambda: len(_jvms(main_class, parent)) >= count, FIND_SECONDS, f"{count} processes of {main_class}")
    return sorted(_jvms(main_class, parent), key=lambda process: process.create_time())


@contextmanager
def paused(processes: Iterable[psutil.Process]) -> Iterator[None]:
    """Suspend processes (SIGSTOP) while the block runs, and resume them afterwards."""
    stopped = list(processes)
    _signal(stopped, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(stopped, signal.SIGCONT)


def _jvms(main_class: str, parent: psutil.Process) -> list[psutil.Process]:
    found = []
    for child in parent.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it can end after it was listed
            words = child.cmdline()
            # The command line of a supervisor contains its child's.
            if words and words[0].endswith("java") and main_class in words:
                found.append(child)
    return found


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        # psutil compares start times, so a program that reuses the id of an exited process gets no signal.
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
