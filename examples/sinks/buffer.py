"""
Hold the rows that wait for the database: the newest per key, bounded, in order of arrival.

What arrives are rows from the task's thread; what leaves are batches for whoever writes them, and word that one is due.
Real-time mode may go silent after any row, so a batch is due by the age of its oldest row and never needs another one.
"""

import threading
import time
from collections.abc import Hashable, Sequence
from itertools import islice
from typing import Any

from examples.sinks.metrics import Metrics

Key = tuple[Hashable, ...]


# A plain tuple, because one is made for every row.
Waiting = tuple[float, Any, Sequence[Any]]
"""Since when the key of a row waits (monotonic seconds), its version, and its values in column order."""
Batch = dict[Key, Waiting]


class Pending:
    """A buffer between a thread that puts rows and one that waits until a batch is due; either may take it."""

    def __init__(self, max_rows: int, linger_s: float, max_pending: int, patience_s: float, metrics: Metrics) -> None:
        """Bound batches by `max_rows` and `linger_s`, the buffer by `max_pending` keys, and the wait for room."""
        self._max_rows, self._max_pending = min(max_rows, max_pending), max_pending
        self._linger_s, self._patience_s, self._metrics = linger_s, patience_s, metrics
        self._waiting: Batch = {}
        self._taken: Batch = {}
        self._is_closed = False
        self._failure: BaseException | None = None
        # The lock is taken for every row, and by itself it is quicker than through the condition.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def __len__(self) -> int:
        """Return the keys that are not acknowledged."""
        return len(self._waiting) + len(self._taken)

    def put(self, key: Key, version: Any, values: Sequence[Any]) -> None:
        """Add a row; wait for room if `max_pending` other keys wait, and raise what made the flusher fail."""
        with self._lock:
            if self._failure:
                self._raise_failure()
            self._metrics.rows += 1
            known = self._waiting.get(key)
            if known is None:
                if len(self._waiting) >= self._max_pending:
                    self._wait_for_room()
                self._waiting[key] = (time.monotonic(), version, values)
                if len(self._waiting) in (1, self._max_rows):
                    self._changed.notify_all()
                return
            self._metrics.deduped += 1
            since, known_version, _ = known
            if version is None or version >= known_version:
                self._waiting[key] = (since, version, values)

    def wait_until_due(self) -> bool:
        """Return True when a batch is due, False after `close` when nothing waits any more."""
        with self._lock:
            while not self._is_due():
                if self._is_closed:
                    return False
                self._changed.wait(self._seconds_left())
            return True

    def take(self) -> Batch:
        """Return the oldest rows, due or not; empty if none waits, the same again if they are not acknowledged."""
        with self._lock:
            self._raise_failure()
            if not self._taken:
                self._taken = dict(islice(self._waiting.items(), self._max_rows))
                if len(self._taken) == len(self._waiting):
                    self._waiting = {}
                else:
                    for key in self._taken:
                        del self._waiting[key]
                self._changed.notify_all()
            return self._taken

    def acknowledge(self) -> None:
        """Forget the batch that was taken last: the database has it."""
        with self._lock:
            self._taken = {}

    def fail(self, failure: BaseException) -> None:
        """Raise `failure` from now on for whoever puts or takes; the rows stay."""
        with self._lock:
            self._failure = failure
            self._changed.notify_all()
            self._raise_failure()

    def close(self, *, drop: bool = False) -> None:
        """Take no more rows, and make what waits due at once, or drop it."""
        with self._lock:
            self._is_closed = True
            if drop:
                self._waiting.clear()
            self._changed.notify_all()

    def _is_due(self) -> bool:
        is_full = len(self._waiting) >= self._max_rows
        return bool(self._waiting) and (is_full or self._is_closed or self._seconds_left() == 0)

    def _seconds_left(self) -> float | None:
        # A row that replaces another keeps its place and its age, so the first is the oldest.
        oldest = next(iter(self._waiting.values()), None)
        return None if oldest is None else max(0, oldest[0] + self._linger_s - time.monotonic())

    def _wait_for_room(self) -> None:
        started = time.monotonic()
        has_room = self._changed.wait_for(
            lambda: self._failure or len(self._waiting) < self._max_pending, self._patience_s
        )
        self._metrics.backpressure_s += time.monotonic() - started
        self._raise_failure()
        if not has_room:
            raise TimeoutError(
                f"{len(self._waiting)} keys wait, and the database took none within {self._patience_s:g} s"
            )

    def _raise_failure(self) -> None:
        if self._failure:
            raise RuntimeError(f"{len(self)} rows are not written, so the task must fail") from self._failure
