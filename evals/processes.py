"""Kill the processes that an evaluation has started, including orphans."""

import contextlib
import ctypes
import sys
from collections.abc import Collection

import psutil
from py4j.protocol import Py4JNetworkError

from spark_rtm.services.java import hide_logged

# The Linux option that makes this process the parent of its orphaned descendants.
SET_CHILD_SUBREAPER = 36
KILL_SECONDS = 10.0


def adopt_orphans() -> set[psutil.Process]:
    """On Linux, become the parent of orphaned descendants. Return the current child processes."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return set(psutil.Process().children())


def kill_processes(kept: Collection[psutil.Process] = ()) -> None:
    """
    Kill the child processes of this process with their descendants, except `kept`.

    This includes a starting JVM, which PySpark cannot report yet.
    """
    # A Py4J thread that waits for the JVM's answer would log the lost connection with a traceback.
    hide_logged(Py4JNetworkError)
    while trees := [child for child in psutil.Process().children() if child not in kept and _is_running(child)]:
        found = list(trees)
        for tree in trees:
            with contextlib.suppress(psutil.Error):
                found += tree.children(recursive=True)
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, KILL_SECONDS)


def _is_running(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
