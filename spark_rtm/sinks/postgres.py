"""
Upsert a streaming query's rows into PostgreSQL or Lakebase within milliseconds, without losing rows.

In real-time mode, Spark closes a sink only at the end of a long batch, so a separate thread flushes rows earlier.
"""

import logging
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spark_rtm.sinks.buffer import RowBuffer
from spark_rtm.sinks.connection import BatchConnection, Connect
from spark_rtm.sinks.flusher import Flusher, RejectValues
from spark_rtm.sinks.metrics import Metrics
from spark_rtm.sinks.row_encoder import RowEncoder
from spark_rtm.sinks.statement import check_target, types_to_check, upsert_statement

if TYPE_CHECKING:
    from pyspark.sql import Row

LOG = logging.getLogger(__name__)


@dataclass
class PostgresUpsertSink:
    """
    A sink for `DataStreamWriter.foreach` in micro-batch and real-time mode, and for direct use.

    Delivery is at least once. The final table is exact, because it keeps each key's row with the highest `version`.
    Without `version`, the table keeps the last row to arrive. After a lost connection, an older row can arrive last,
    even if one task processes all rows of a key and a newer row was already acknowledged.
    """

    connect: Connect = field(repr=False)
    """
    Arguments of `psycopg.connect`, or a function that returns them for each connection.

    Spark sends the arguments, including a password, to its workers, but does not send a function's result.
    The sink adds its time limits to `options`, unless `options` is an empty string.
    """
    table: tuple[str, str]
    """Schema name and table name."""
    key: tuple[str, ...]
    """Columns of the primary key or of a unique index."""
    columns: Mapping[str, str]
    """PostgreSQL type of each column to write."""
    version: str | None = None
    """Column that increases with every change of a key: a number, a date or a timestamp."""
    allow_reverts: bool = False
    """Without `version`, allow an older row to replace an acknowledged newer row."""
    on_rejected: Callable[[Mapping[str, Any], str], None] | None = None
    """
    Called with a row that can never be stored, and the reason. Without a callback, such a row fails the task.

    The function must store the row elsewhere before it returns, and may be called again with the same row.
    """
    max_rows: int = 500
    """Maximum number of rows per flush."""
    linger_ms: float = 2
    """Maximum time that a row waits for more rows before a flush."""
    max_pending: int = 5_000
    """
    Maximum number of distinct keys in the buffer.

    When the buffer is full, `process` blocks and the query stops reading.
    """
    retry_deadline_seconds: float = 60
    """Time during which the sink retries a failed batch before the task fails."""
    flush_timeout_seconds: float = 35
    """Time without a reply after which the sink closes the connection. The server's timeout is 6/7 of this time."""
    metrics: Metrics = field(init=False, repr=False, compare=False, default_factory=Metrics)
    """The metrics for the current or last epoch."""

    def __post_init__(self) -> None:
        """Reject invalid arguments on the driver."""
        check_target(self.table, self.key, self.columns, self.version, allow_reverts=self.allow_reverts)
        for name in ("max_rows", "max_pending", "retry_deadline_seconds", "flush_timeout_seconds"):
            if getattr(self, name) <= 0:
                problem = f"{name} is {getattr(self, name)!r}, so the sink would write nothing"
                raise ValueError(f"{problem}; use a positive number")
        self._buffer: RowBuffer | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without objects created by `open`, because threads and some functions cannot be pickled."""
        return {**self.__dict__, "metrics": Metrics(), "_buffer": None, "_flusher": None, "_encoder": None}

    def open(self, partition_id: int, epoch_id: int) -> bool:
        """
        Start an epoch and return True.

        After False, Spark would skip the epoch's rows without an error.
        """
        if self._buffer is not None:
            raise RuntimeError(
                f"{self._described} is already open, and its buffered rows would be lost; call close() before open()"
            )
        self.metrics = Metrics()
        self._encoder = RowEncoder(self.key, self.columns, self.version)
        # An attempt may start just before the retry deadline and then block until the watchdog cuts the connection.
        patience_seconds = self.retry_deadline_seconds + 2 * self.flush_timeout_seconds
        self._buffer = RowBuffer(self.max_rows, self.linger_ms / 1000, self.max_pending, patience_seconds, self.metrics)
        self._name = f"{'.'.join(self.table)} partition {partition_id} epoch {epoch_id}"
        connection = BatchConnection(
            self.connect,
            upsert_statement(self.table, self.key, self.columns, self.version),
            types_to_check(self.columns),
            self._name,
            self.retry_deadline_seconds,
            self.flush_timeout_seconds,
            self.metrics,
        )
        # The threads have no strong reference to the sink, so they end when an unclosed sink is garbage-collected.
        owner = weakref.ref(self)
        self._flusher = Flusher(
            self._buffer, connection, self.metrics, self._reject_values(), lambda: owner() is not None
        )
        return True

    def process(self, row: "Row | Mapping[str, Any]") -> None:
        """Buffer a row. Raise RuntimeError if an earlier flush failed."""
        buffer = self._buffer
        if buffer is None:
            raise self._not_open()
        try:
            key, version, values = self._encoder.encode(row)
        except ValueError as error:
            if self.on_rejected is None:
                raise
            self._flusher.reject([row[name] for name in self.columns], str(error))
            return
        buffer.put(key, version, values)

    def drain(self) -> None:
        """Block until the database has acknowledged all rows so far. Raise RuntimeError if a row cannot be written."""
        if self._buffer is None:
            raise self._not_open()
        self._flusher.drain()

    def close(self, error: BaseException | None) -> None:
        """
        Write the buffered rows, and raise an error if the write fails.

        If the query failed with `error`, discard the rows instead. Later calls have no effect.
        """
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

    def _not_open(self) -> RuntimeError:
        return RuntimeError(f"{self._described} is not open; call open() before process() or drain()")

    def _reject_values(self) -> RejectValues | None:
        names, on_rejected = list(self.columns), self.on_rejected
        if on_rejected is None:
            return None
        return lambda values, reason: on_rejected(dict(zip(names, values, strict=True)), reason)

    @property
    def _described(self) -> str:
        return f"the sink for table {'.'.join(self.table)!r}"
