"""Check many files in several processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from spark_rtm.text.finding import Finding

MIN_FILES = 100
"""For fewer files, the start of the processes takes longer than they save."""
FILES_AT_ONCE = 16
Lint = Callable[[Path], list[Finding]]
SECONDS_BETWEEN_LOOKS = 0.5


def in_processes(lint: Lint, lost: Lint, paths: Sequence[Path], processes: int) -> Iterator[list[Finding]]:
    """
    Yield the findings of each file; with more than one process, only where a process can be copied.

    `lost` returns the findings of a file whose process ended, so that this process does not end in the same way.
    """
    if processes < 2 or len(paths) < MIN_FILES or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(lint, paths)
        return
    try:
        pool = _pool(processes)
    except (ImportError, NotImplementedError, OSError):  # a sandbox without semaphores
        yield from map(lint, paths)
        return
    parts = [paths[start : start + FILES_AT_ONCE] for start in range(0, len(paths), FILES_AT_ONCE)]
    futures: list[Future[list[list[Finding]]]] = []
    left: list[Path] = []
    try:
        with contextlib.suppress(BrokenProcessPool):
            futures.extend(pool.submit(_lint_all, lint, part) for part in parts)
        for part, future in zip(parts, futures, strict=False):
            try:
                yield from future.result()
            except BrokenProcessPool:  # one process has ended, for example because the memory was used up
                left += part
    finally:
        pool.shutdown(cancel_futures=True)
    left += [path for part in parts[len(futures) :] for path in part]
    yield from _one_by_one(lint, lost, left)


def _one_by_one(lint: Lint, lost: Lint, paths: Sequence[Path]) -> Iterator[list[Finding]]:
    pool = _pool(1)
    try:
        for path in paths:
            try:
                yield pool.submit(lint, path).result()
            except BrokenProcessPool:
                yield lost(path)
                pool = _pool(1)
    finally:
        pool.shutdown(cancel_futures=True)


def _pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, multiprocessing.get_context("fork"), _depend_on_parent, (os.getpid(),))


def _lint_all(lint: Lint, paths: Sequence[Path]) -> list[list[Finding]]:
    return [lint(path) for path in paths]


def _depend_on_parent(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end when it is killed: the operating system does not end its children."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)
