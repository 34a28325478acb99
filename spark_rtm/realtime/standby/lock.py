"""The lock file of a standby, which stays locked while the leader's Python process or its JVM lives."""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JVM_BYTE, PYTHON_BYTE = 0, 1


class LostLockError(RuntimeError):
    """Raised by a leader that has lost its lock, so another process may lead."""


class Lock:
    """
    POSIX locks on two bytes of a file: one lock of the JVM, which can outlive its Python process, and one of Python.

    POSIX drops all locks of a process on a file as soon as the process closes any descriptor of this file. If other
    code of the JVM reads the file, Python's lock keeps other processes away until `check` locks the JVM's byte again.
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

        Raises RuntimeError if this JVM already uses it, because closing a second channel would release the first lock.
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
            # The file was deleted, and its last leader has ended. The next call locks the file that is now at the path.
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

        A leader cannot create a deleted file again, because another process may already have done so and lead.
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
        # Other users could hold a shared lock on a file that they can read.
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
