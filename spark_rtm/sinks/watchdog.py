"""
Shut down a connection if the server does not reply in time.

Without the watchdog, one lost packet would block a real-time task forever, because neither `statement_timeout` nor TCP
detects a reply that the server sent and the network lost.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

CHECKS_PER_TIMEOUT = 8


class Watchdog:
    """A thread that shuts a socket down when a flush takes longer than the timeout."""

    def __init__(self, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._watched: tuple[float, socket.socket] | None = None
        self._lock = threading.Lock()
        self._is_stopped = threading.Event()
        self.cuts = 0
        threading.Thread(target=self._run, name="postgres-watchdog", daemon=True).start()

    @contextmanager
    def watching(self, connected: socket.socket) -> Iterator[None]:
        """Shut down the socket `connected` if the block takes longer than the timeout."""
        with self._lock:
            self._watched = time.monotonic() + self._timeout_seconds, connected
        try:
            yield
        finally:
            with self._lock:
                self._watched = None

    def cut(self, *, only_late: bool = False) -> None:
        """Shut the watched socket down, with `only_late` only after the timeout."""
        with self._lock:
            if self._watched is None or (only_late and time.monotonic() < self._watched[0]):
                return
            with suppress(OSError):  # the server has already closed it
                self._watched[1].shutdown(socket.SHUT_RDWR)
            self.cuts += only_late
            self._watched = None

    def stop(self) -> None:
        """End the thread."""
        self._is_stopped.set()

    def _run(self) -> None:
        while not self._is_stopped.wait(self._timeout_seconds / CHECKS_PER_TIMEOUT):
            self.cut(only_late=True)
