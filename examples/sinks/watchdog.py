"""
Cut a connection on which an answer does not come.

What arrives is a socket for the time of one flush; what leaves is its end, if the flush takes too long.
Real-time tasks run for minutes without a pause: one lost packet would keep theirs waiting for ever.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CHECKS_PER_TIMEOUT = 8


class Watchdog:
    """A thread that shuts a socket down; neither statement_timeout nor TCP notices an answer that was lost."""

    def __init__(self, timeout_s: float) -> None:
        """Start watching; `stop` ends it."""
        self._timeout_s = timeout_s
        self._watched: tuple[float, socket.socket] | None = None
        self._lock = threading.Lock()
        self._is_stopped = threading.Event()
        self.cuts = 0
        threading.Thread(target=self._run, name="postgres-watchdog", daemon=True).start()

    @contextmanager
    def watching(self, connected: socket.socket) -> Iterator[None]:
        """Cut `connected` if the block takes longer than the timeout."""
        with self._lock:
            self._watched = time.monotonic() + self._timeout_s, connected
        try:
            yield
        finally:
            with self._lock:
                self._watched = None

    def cut(self, *, only_late: bool = False) -> None:
        """Shut the watched socket down, if there is one."""
        with self._lock:
            if self._watched is None or (only_late and time.monotonic() < self._watched[0]):
                return
            with suppress(OSError):  # the other side was faster
                self._watched[1].shutdown(socket.SHUT_RDWR)
            self.cuts += only_late
            self._watched = None

    def stop(self) -> None:
        """End the thread."""
        self._is_stopped.set()

    def _run(self) -> None:
        while not self._is_stopped.wait(self._timeout_s / CHECKS_PER_TIMEOUT):
            self.cut(only_late=True)
