"""Run the queries in only one of several processes, which stops if it loses its lock."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..warm_up import warm_up_silently  # noqa: TID252 - users copy the folder under a different name

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["IS_READY", "LEADS", "LostLockError", "Standby", "leading"]

# The keeper's logger, so users need to set the level of only one logger.
LOG = logging.getLogger(__name__.removesuffix("standby") + "keeper")
LOCK_POLL_SECONDS = 0.05
JVM_BYTE, PYTHON_BYTE = 0, 1
LEADS, IS_READY = "this process has the lock", "this process is ready"
"""Log line prefixes for the leader and for a process that waits for the lock."""


class LostLockError(RuntimeError):
    """Raised if the leader has lost its lock, so another process may lead."""


class Lock:
    """
    POSIX locks on two bytes of a file: one for the JVM, which can outlive its Python process, and one for Python.

    POSIX releases all of a process's locks on a file as soon as the process closes any descriptor of this file. If
    other code in the JVM reads the file, Python's lock excludes other processes until `check` locks the JVM's byte
    again.
    """

    def __init__(self, jvm: Any, path: Path) -> None:
        self.is_held = False
        self._jvm, self._path = jvm, path
        self._jvm_lock: Any = None
        self._open()

    @classmethod
    @contextmanager
    def of(cls, jvm: Any, path: Path) -> Iterator[Lock]:
        """
        Open the lock file while the block runs.

        Raises RuntimeError if this JVM already uses the file, because closing a second channel would release the first
        lock.
        """
        used, key = jvm.java.lang.System.getProperties(), f"spark_rtm.lock.{path.resolve()}"
        if used.putIfAbsent(key, "used"):
            raise RuntimeError(
                f"this JVM already uses the lock file {path}, and a second use would release the lock; pass all "
                "queries to one call of `keep`"
            )
        try:
            lock = cls(jvm, path)
            try:
                yield lock
            finally:
                lock._close()
        finally:
            used.remove(key)

    def acquire(self) -> bool:
        """Try to lock the file, and return whether this process holds the lock."""
        if self.is_held:
            return True
        self._jvm_lock = self._channel.tryLock(JVM_BYTE, 1, False)
        if not self._jvm_lock:
            return False
        if not self._lockf(os.F_TLOCK, PYTHON_BYTE):
            self._jvm_lock.release()
            return False
        if not self._is_at_path():
            # The file was deleted, and its last leader has ended. The next call locks the path's current file.
            self._close()
            self._open()
            return False
        self.is_held = True
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{socket.gethostname()} {os.getpid()}\n".encode(), 0)
        return True

    def check(self) -> None:
        """
        Raise `LostLockError` if another process can lead.

        A leader cannot recreate a deleted file, because another process may already have recreated the file and become
        the leader.
        """
        consequence = "so this process stops its queries in the middle of their batches; start it again as a standby"
        if not self._is_at_path():
            raise LostLockError(
                f"the lock file {self._path} was deleted or replaced, and another process may lead, {consequence}, and "
                "never delete the file"
            )
        if not self._lockf(os.F_TLOCK, PYTHON_BYTE):
            leader = os.pread(self._descriptor, 300, 0).decode(errors="replace").strip()
            raise LostLockError(f"the process {leader!r} has locked {self._path}, {consequence}")
        if self._lockf(os.F_TEST, JVM_BYTE):
            self._jvm_lock.release()
            self._jvm_lock = self._channel.tryLock(JVM_BYTE, 1, False) or self._jvm_lock

    def _open(self) -> None:
        # Other users could take a shared lock on a readable file.
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        self._channel = self._jvm.java.io.RandomAccessFile(str(self._path), "rw").getChannel()

    def _close(self) -> None:
        self.is_held = False
        os.close(self._descriptor)
        self._channel.close()

    def _is_at_path(self) -> bool:
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._descriptor))
        except FileNotFoundError:
            return False

    def _lockf(self, command: int, byte: int) -> bool:
        os.lseek(self._descriptor, byte, os.SEEK_SET)
        try:
            os.lockf(self._descriptor, command, 1)
        except OSError:
            return False
        return True


@dataclass(frozen=True)
class Standby:
    """Settings for processes of which only the leader runs the queries. When it exits, another process takes over."""

    lock_path: Path
    """ Path of the file that the leader locks. The system releases the lock when the leader's JVM exits, even after
    kill -9.

    All processes must see the same file, on one machine or on a file system with POSIX locks between machines.
    """
    warm_up: Callable[[Path], Mapping[str, Callable[[], StreamingQuery]]] | None = None
    """
    Returns the functions that start the queries with checkpoints in the given folder.

    A waiting process briefly runs the queries to warm up. They must use the `rtm-kafka` source, which reads nothing
    during a warm-up.
    """


@contextmanager
def leading(spark: SparkSession, standby: Standby, stop: threading.Event) -> Iterator[Callable[[], None] | None]:
    """
    Wait for the lock, and keep it while the block runs.

    Yields a function that raises `LostLockError` if this process has lost the lock, or None if `stop` was set first.
    """
    jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API
    path = standby.lock_path
    path.parent.mkdir(parents=True, exist_ok=True)
    with Lock.of(jvm, path) as lock:
        if not lock.acquire():
            if standby.warm_up:
                warm_up_silently(spark, standby.warm_up, path.parent, lambda: stop.is_set() or lock.acquire())
            LOG.info("%s to start the queries as soon as another process releases the lock %s", IS_READY, path)
        while not lock.acquire() and not stop.wait(LOCK_POLL_SECONDS):
            pass
        if lock.is_held:
            LOG.info("%s %s, and starts the queries", LEADS, path)
        yield lock.check if lock.is_held else None
