"""The Python worker daemon for `python_state.scala`, which forks a process for each task."""

import ctypes
import os
import struct
import sys
from types import ModuleType
from typing import Any

from pyspark.daemon import manager

from .worker import serve

SLICE_NS = 100_000
"""The shortest time slice that Linux supports."""
SET_ATTRIBUTES = {"x86_64": 314, "aarch64": 274}
"""System call number of `sched_setattr`, which Python does not wrap, by architecture."""


def ask_for_short_slices() -> None:
    """
    Make this process and its forks run as soon as they wake, even while other programs use all cores.

    A worker needs 0.1 ms per row, but would otherwise wait several ms for another program's time slice to end. Linux
    supports a slice length per process since version 6.12. On other systems, or if a container forbids the call, this
    function has no effect. Source: https://docs.kernel.org/scheduler/sched-eevdf.html (read 2026-11-27)
    """
    number = SET_ATTRIBUTES.get(os.uname().machine)
    if sys.platform != "linux" or number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = struct.pack("=IIQiIQQQ", 48, os.SCHED_OTHER, 0, nice, 0, SLICE_NS, 0, 0)
    ctypes.CDLL(None).syscall(number, 0, attributes, 0)


if __name__ == "__main__":
    ask_for_short_slices()
    # A forked process imports `pyspark.worker` and calls its `main`.
    worker: Any = ModuleType("pyspark.worker")
    worker.main = serve
    sys.modules["pyspark.worker"] = worker
    manager()
