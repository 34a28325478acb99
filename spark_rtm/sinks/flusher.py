"""
Write due batches in a separate thread, or immediately in the thread that waits for the result.

In real-time mode, the next row may arrive minutes later, so a flush must not wait for another row.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg

from spark_rtm.sinks.buffer import Batch, RowBuffer
from spark_rtm.sinks.connection import BatchConnection, is_caused_by_a_row, without_values
from spark_rtm.sinks.metrics import Metrics

LOG = logging.getLogger(__name__)

ABANDON_SECONDS = 5.0

RejectValues = Callable[[Sequence[Any], str], None]
"""Callback for a rejected row's values in column order, and the reason."""


@dataclass
class Flusher:
    """
    A writer of batches from a buffer to a connection, one batch at a time.

    The flusher's thread writes due batches until `stop` is called or `is_owned` returns False.
    """

    buffer: RowBuffer
    connection: BatchConnection
    metrics: Metrics
    on_rejected: RejectValues | None
    is_owned: Callable[[], bool]

    def __post_init__(self) -> None:
        """Start the thread."""
        self._flushing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="postgres-flusher", daemon=True)
        self._thread.start()

    def drain(self) -> None:
        """Block until the database has acknowledged every row so far. Raise RuntimeError if a row cannot be written."""
        # The calling thread flushes, because handing the rows to the flusher's thread would cost two thread switches.
        while self._flush_next():
            pass

    def stop(self) -> bool:
        """Drop the remaining rows and close the connection. Return False if a blocked flush prevents the close."""
        self.buffer.close(drop=True)
        if len(self.buffer):
            self.connection.abandon()
        self._thread.join(ABANDON_SECONDS)
        return not self._thread.is_alive()

    def reject(self, values: Sequence[Any], reason: str) -> None:
        """Pass a rejected row to `on_rejected`. Rows are passed one at a time."""
        with self._flushing:
            self._reject(values, reason)

    def _run(self) -> None:
        with suppress(RuntimeError):  # the task's thread raises this error
            while self.buffer.wait_until_due(self.is_owned):
                self._flush_next()
        if not self.is_owned():
            LOG.warning(
                "%s: the sink was not closed, so %d rows were discarded and the connection is closed; call close()",
                self.connection.application_name,
                len(self.buffer),
            )
        with self._flushing:
            self.connection.close()

    def _flush_next(self) -> bool:
        with self._flushing:
            batch = self.buffer.take()
            failure = self._try(batch) if batch else None
            if failure is None:
                self.buffer.acknowledge()
            else:
                self.buffer.fail(failure)
        return bool(batch)

    def _try(self, batch: Batch) -> Exception | None:
        try:
            self._flush(batch)
        except Exception as error:  # noqa: BLE001  # the buffer's `put` and `take` raise it
            return without_values(error)
        return None

    def _flush(self, batch: Batch) -> None:
        started_at = time.monotonic()
        # Sort the rows, because two tasks that lock the same rows in different orders can deadlock.
        written, changed = self._write([batch[key][2] for key in sorted(batch)])
        committed_at = time.monotonic()
        oldest_since = min(since for since, _, _ in batch.values())
        self.metrics.flushes += 1
        self.metrics.flushed += written
        self.metrics.stale_rows += written - changed
        self.metrics.flush_ms.append((committed_at - started_at) * 1000)
        self.metrics.oldest_ms.append((committed_at - oldest_since) * 1000)

    def _write(self, rows: list[Sequence[Any]]) -> tuple[int, int]:
        """Write rows; if one is rejected, write them in halves. Return the numbers of acknowledged and changed rows."""
        try:
            return len(rows), self.connection.write([list(column) for column in zip(*rows, strict=True)])
        except Exception as error:
            is_rejected = self.on_rejected is not None and is_caused_by_a_row(error)
            # Two keys in the batch can differ in Python but be equal in PostgreSQL.
            has_equal_keys = isinstance(error, psycopg.errors.CardinalityViolation)
            if not is_rejected and not (has_equal_keys and len(rows) > 1):
                raise
            reason = str(without_values(error))
        if len(rows) == 1:
            self._reject(rows[0], reason)
            return 0, 0
        half = len(rows) // 2
        (written, changed), (more_written, more_changed) = self._write(rows[:half]), self._write(rows[half:])
        return written + more_written, changed + more_changed

    def _reject(self, values: Sequence[Any], reason: str) -> None:
        if self.on_rejected is not None:
            self.on_rejected(values, reason)
            self.metrics.rejected_rows += 1
