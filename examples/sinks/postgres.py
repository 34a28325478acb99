"""
Upsert the rows of a streaming query into PostgreSQL or Lakebase within milliseconds, without losing any.

Real-time mode closes a sink only when its long batch ends, so a separate thread flushes rows by age.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from examples.sinks.buffer import RowBuffer
from examples.sinks.connection import BatchConnection, Connect
from examples.sinks.flusher import Flusher
from examples.sinks.metrics import Metrics
from examples.sinks.row_encoder import RowEncoder
from examples.sinks.statement import check_target, upsert_statement

if TYPE_CHECKING:
    from pyspark.sql import Row

LOG = logging.getLogger(__name__)


@dataclass
class PostgresUpsertSink:
    """
    A sink for `DataStreamWriter.foreach`, in micro-batch and in real-time mode, and for your own loops.

    Delivery is at least once and the final table is exact: the row with the highest `version` of each key stays.
    Without `version` the last row to arrive stays, so all rows of a key must then come from the same task.
    """

    connect: Connect = field(repr=False)
    """Arguments of `psycopg.connect`, or a function that returns them; it is called in the task, at every connect."""
    table: tuple[str, str]
    """Schema and table."""
    key: tuple[str, ...]
    """Columns of the primary key, or of a unique index."""
    columns: Mapping[str, str]
    """PostgreSQL type of each column to write."""
    version: str | None = None
    """Column whose value grows with every change of a key."""
    max_rows: int = 500
    """Maximum number of rows per flush."""
    linger_ms: float = 2
    """Maximum time that a row waits for more rows before it is flushed."""
    max_pending: int = 5_000
    """Maximum number of distinct keys in the buffer; when it is full, `process` blocks and the query stops reading."""
    retry_deadline_seconds: float = 60
    """How long a batch is retried before the task fails."""
    flush_timeout_seconds: float = 35
    """The connection is shut down after this time without an answer; the server itself gives up after 6/7 of it."""
    metrics: Metrics = field(init=False, repr=False, compare=False, default_factory=Metrics)
    """Metrics of the current or the last epoch."""

    def __post_init__(self) -> None:
        """Reject invalid arguments on the driver."""
        check_target(self.table, self.key, self.columns, self.version)
        for name in ("max_rows", "max_pending", "retry_deadline_seconds", "flush_timeout_seconds"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)!r}, so nothing would be written; use more than 0")
        self._buffer: RowBuffer | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Omit what `open` creates, because threads and some functions cannot be pickled."""
        return {**self.__dict__, "metrics": Metrics(), "_buffer": None, "_flusher": None, "_encoder": None}

    def open(self, partition_id: int, epoch_id: int) -> bool:
        """Start an epoch and return True; for any other value Spark would silently skip the rows of the epoch."""
        self.metrics = Metrics()
        self._encoder = RowEncoder(self.key, self.columns, self.version)
        self._buffer = RowBuffer(
            self.max_rows, self.linger_ms / 1000, self.max_pending, self._patience_seconds, self.metrics
        )
        self._name = f"{'.'.join(self.table)} partition {partition_id} epoch {epoch_id}"
        connection = BatchConnection(
            self.connect,
            upsert_statement(self.table, self.key, self.columns, self.version),
            self._name,
            self.retry_deadline_seconds,
            self.flush_timeout_seconds,
            self.metrics,
        )
        self._flusher = Flusher(self._buffer, connection, self.metrics)
        return True

    def process(self, row: "Row | Mapping[str, Any]") -> None:
        """Buffer a row; raise RuntimeError if an earlier flush failed."""
        self._opened().put(*self._encoder.encode(row))

    def drain(self) -> None:
        """Return when the database has acknowledged every row so far; raise RuntimeError if it cannot."""
        self._opened()
        self._flusher.drain()

    def close(self, error: BaseException | None) -> None:
        """Write the buffered rows or raise; after an `error` of the query, drop them and do not raise. Idempotent."""
        buffer, self._buffer = self._buffer, None
        if buffer is None:
            return
        try:
            if error is None:
                buffer.close()
                self._flusher.drain()
        finally:
            if self._flusher.stop():
                LOG.info("%s: %s", self._name, self.metrics.line())

    def _opened(self) -> RowBuffer:
        if self._buffer is None:
            raise RuntimeError(f"sink of {'.'.join(self.table)!r} is not open; call open() before process() or drain()")
        return self._buffer

    @property
    def _patience_seconds(self) -> float:
        # An attempt may start just before the retry deadline and then block until the watchdog shuts it down.
        return self.retry_deadline_seconds + 2 * self.flush_timeout_seconds
