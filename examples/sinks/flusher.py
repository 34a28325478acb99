"""
Write the batches of one epoch: when they are due, in a thread of its own, or at once for a caller who waits.

What arrives is a buffer that another thread fills; what leaves are acknowledged batches, counted and timed.
Real-time mode may send nothing for minutes, so the flush of the last row must not depend on a next one.
"""

import threading
import time
from contextlib import suppress

from examples.sinks.buffer import Batch, Pending
from examples.sinks.connection import Writer
from examples.sinks.metrics import Metrics

ABANDON_S = 5.0


class Flusher:
    """Takes batches from `pending` and gives them to `writer`, one at a time, until it is stopped."""

    def __init__(self, pending: Pending, writer: Writer, metrics: Metrics) -> None:
        """Start the thread."""
        self._pending, self._writer, self._metrics = pending, writer, metrics
        self._turn = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="postgres-flusher", daemon=True)
        self._thread.start()

    def drain(self) -> None:
        """Return when every row so far is acknowledged; raise what kept it from being written."""
        # In this thread: handing the rows over would cost two changes of threads.
        while self._flush_next():
            pass

    def stop(self) -> bool:
        """Drop what waits, leave the server, and tell whether that is done: a hanging flush is given up."""
        self._pending.close(drop=True)
        if len(self._pending):
            self._writer.abandon()
        self._thread.join(ABANDON_S)
        return not self._thread.is_alive()

    def _run(self) -> None:
        with suppress(RuntimeError):  # the task's thread raises it
            while self._pending.wait_until_due():
                self._flush_next()
        with self._turn:
            self._writer.close()

    def _flush_next(self) -> bool:
        with self._turn:
            batch = self._pending.take()
            if batch:
                try:
                    self._flush(batch)
                except Exception as failure:  # noqa: BLE001  # it is raised with what it means
                    self._pending.fail(failure)
                else:
                    self._pending.acknowledge()
        return bool(batch)

    def _flush(self, batch: Batch) -> None:
        started = time.monotonic()
        # Sorted, because two tasks that lock the same rows in different orders wait for each other.
        rows = [batch[key][2] for key in sorted(batch)]
        changed = self._writer.write([list(column) for column in zip(*rows, strict=True)])
        now, oldest = time.monotonic(), min(since for since, _, _ in batch.values())
        self._metrics.flushes += 1
        self._metrics.flushed += len(rows)
        self._metrics.stale_rows += len(rows) - changed
        self._metrics.flush_ms.append((now - started) * 1000)
        self._metrics.oldest_ms.append((now - oldest) * 1000)
