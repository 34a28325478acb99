"""
Buffer the newest row per key, in order of arrival, and signal when a batch is due.

A batch is due when its oldest row reaches a maximum age. In real-time mode, the next row may arrive minutes later, so a
due batch does not wait for another row.
"""

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from itertools import islice
from typing import Any

from spark_rtm.sinks.metrics import Metrics

Key = tuple[Hashable, ...]

CHECK_SECONDS = 1.0
"""Interval at which an idle buffer checks whether its owner still exists."""

# A plain tuple for speed, because the buffer creates one per row.
BufferedRow = tuple[float, Any, Sequence[Any]]
"""A buffered row: time of the key's first row (monotonic seconds), version, and values in column order."""
Batch = dict[Key, BufferedRow]


class RowBuffer:
    """
    A bounded buffer between a thread that adds rows and a thread that waits for due batches.

    Both threads can take batches.
    """

    def __init__(
        self, max_rows: int, linger_seconds: float, max_pending: int, patience_seconds: float, metrics: Metrics
    ) -> None:
        """Set the limits for batch size, batch age, the number of buffered keys, and the wait for free space."""
        self._max_rows = min(max_rows, max_pending)
        self._max_pending = max_pending
        self._linger_seconds = linger_seconds
        self._patience_seconds = patience_seconds
        self._metrics = metrics
        self._waiting: Batch = {}
        self._taken: Batch = {}
        self._is_closed = False
        self._failure: BaseException | None = None
        # `put` acquires the lock for each row, which is faster directly than through the condition.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def __len__(self) -> int:
        """Return the number of keys with rows that the database has not acknowledged yet."""
        return len(self._waiting) + len(self._taken)

    def put(self, key: Key, version: Any, values: Sequence[Any]) -> None:
        """Add a row. Block while `max_pending` other keys wait, and raise RuntimeError if an earlier flush failed."""
        with self._lock:
            if self._failure:
                self._raise_failure()
            self._metrics.rows += 1
            buffered = self._waiting.get(key)
            if buffered is None:
                if len(self._waiting) >= self._max_pending:
                    self._wait_for_space()
                self._waiting[key] = (time.monotonic(), version, values)
                if len(self._waiting) in (1, self._max_rows):
                    self._changed.notify_all()
                return
            self._metrics.deduped += 1
            since, buffered_version, _ = buffered
            if version is None or version >= buffered_version:
                self._waiting[key] = (since, version, values)

    def wait_until_due(self, is_owned: Callable[[], bool]) -> bool:
        """Block until a batch is due. Return False if the buffer is empty and closed, or no longer owned."""
        with self._lock:
            while is_owned():
                if self._is_due():
                    return True
                if self._is_closed:
                    return False
                self._changed.wait(self._seconds_left())
            return False

    def take(self) -> Batch:
        """Return a batch of the oldest rows, due or not. Return the same batch until `acknowledge` is called."""
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
        """Discard the last batch after the database has stored it."""
        with self._lock:
            self._taken = {}

    def fail(self, failure: BaseException) -> None:
        """Raise `failure` as RuntimeError, now and in each later `put` and `take`. The rows stay in the buffer."""
        with self._lock:
            self._failure = failure
            self._changed.notify_all()
            self._raise_failure()

    def close(self, *, drop: bool = False) -> None:
        """Close the buffer. The remaining rows become due immediately, or are discarded if `drop` is true."""
        with self._lock:
            self._is_closed = True
            if drop:
                self._waiting.clear()
            self._changed.notify_all()

    def _is_due(self) -> bool:
        is_full = len(self._waiting) >= self._max_rows
        return bool(self._waiting) and (is_full or self._is_closed or self._seconds_left() == 0)

    def _seconds_left(self) -> float:
        # A newer row of a key takes over the position and age of the earlier row, so the first row is the oldest.
        oldest = next(iter(self._waiting.values()), None)
        due_in = CHECK_SECONDS if oldest is None else oldest[0] + self._linger_seconds - time.monotonic()
        return min(max(0, due_in), CHECK_SECONDS)

    def _wait_for_space(self) -> None:
        started_at = time.monotonic()
        has_space = self._changed.wait_for(
            lambda: self._failure or len(self._waiting) < self._max_pending, self._patience_seconds
        )
        self._metrics.backpressure_seconds += time.monotonic() - started_at
        self._raise_failure()
        if not has_space:
            raise TimeoutError(
                f"the sink's buffer is full ({len(self._waiting)} keys), and the database has accepted no rows for "
                f"{self._patience_seconds:g} s, so the task fails; check that the database accepts writes"
            )

    def _raise_failure(self) -> None:
        if self._failure:
            raise RuntimeError(f"the sink could not write {len(self)} rows, so the task fails") from self._failure
