"""
Write due batches in a separate thread, or immediately in the thread that waits for the result.

In real-time mode, minutes can pass before the next row arrives, so the flush of a row must not wait for another row.
"""

import threading
import time
from contextlib import suppress

from examples.sinks.buffer import Batch, RowBuffer
from examples.sinks.connection import BatchConnection
from examples.sinks.metrics import Metrics

ABANDON_SECONDS = 5.0


class Flusher:
    """Writes batches from the buffer to the connection, one at a time, until `stop` is called."""

    def __init__(self, buffer: RowBuffer, connection: BatchConnection, metrics: Metrics) -> None:
        """Start the thread that writes due batches."""
        self._buffer = buffer
        self._connection = connection
        self._metrics = metrics
        self._flushing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="postgres-flusher", daemon=True)
        self._thread.start()

    def drain(self) -> None:
        """Block until the database has acknowledged every row so far; raise RuntimeError if a row cannot be written."""
        # The calling thread flushes, because handing the rows to the other thread would cost two thread switches.
        while self._flush_next():
            pass

    def stop(self) -> bool:
        """Drop the remaining rows and close the connection; return False if a blocked flush prevented this."""
        self._buffer.close(drop=True)
        if len(self._buffer):
            self._connection.abandon()
        self._thread.join(ABANDON_SECONDS)
        return not self._thread.is_alive()

    def _run(self) -> None:
        with suppress(RuntimeError):  # the task's thread raises this error
            while self._buffer.wait_until_due():
                self._flush_next()
        with self._flushing:
            self._connection.close()

    def _flush_next(self) -> bool:
        with self._flushing:
            batch = self._buffer.take()
            if batch:
                try:
                    self._flush(batch)
                except Exception as failure:  # noqa: BLE001  # `put` and `take` of the buffer raise it
                    self._buffer.fail(failure)
                else:
                    self._buffer.acknowledge()
        return bool(batch)

    def _flush(self, batch: Batch) -> None:
        started_at = time.monotonic()
        # Rows are sorted, because two tasks that lock the same rows in different orders can deadlock.
        rows = [batch[key][2] for key in sorted(batch)]
        changed = self._connection.write([list(column) for column in zip(*rows, strict=True)])
        committed_at = time.monotonic()
        oldest_since = min(since for since, _, _ in batch.values())
        self._metrics.flushes += 1
        self._metrics.flushed += len(rows)
        self._metrics.stale_rows += len(rows) - changed
        self._metrics.flush_ms.append((committed_at - started_at) * 1000)
        self._metrics.oldest_ms.append((committed_at - oldest_since) * 1000)
