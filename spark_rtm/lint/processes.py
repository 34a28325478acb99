"""Check many files in several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from spark_rtm.text.finding import Finding

MIN_FILES = 100
"""For fewer files, the start of the processes takes longer than they save."""
FILES_AT_ONCE = 16
SECONDS_BETWEEN_LOOKS = 0.5


def in_processes(
    lint: Callable[[Path], list[Finding]], paths: Sequence[Path], processes: int
) -> Iterator[list[Finding]]:
    """Yield the findings of each file; with more than one process, only where a process can be copied."""
    if processes < 2 or len(paths) < MIN_FILES or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(lint, paths)
        return
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(processes, context, _depend_on_parent, (os.getpid(),))
    try:
        found = list(pool.map(lint, paths, chunksize=FILES_AT_ONCE))
    except BrokenProcessPool:  # one process has ended, for example because the memory was used up
        found = [lint(path) for path in paths]
    finally:
        pool.shutdown(cancel_futures=True)
    yield from found


def _depend_on_parent(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end when it is killed: the operating system does not end its children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)
