"""
Upsert the rows of a streaming query into PostgreSQL or Lakebase: visible within milliseconds, none lost.

What arrives are rows of one task, perhaps again or out of order; what leaves is the newest version of each key.
Real-time mode closes a sink only when its long batch ends, so a thread flushes by age and does not wait for a next row.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from examples.sinks.buffer import Pending
from examples.sinks.connection import Connect, Writer
from examples.sinks.flusher import Flusher
from examples.sinks.metrics import Metrics
from examples.sinks.row_encoder import RowShape
from examples.sinks.statement import check_target, upsert_statement

if TYPE_CHECKING:
    from pyspark.sql import Row

LOG = logging.getLogger(__name__)


@dataclass
class PostgresUpsertSink:
    """
    A writer for `DataStreamWriter.foreach`, in micro-batch and in real-time mode, and for loops of your own.

    Delivery is at least once and the result is exact: `version` decides which row of a key stays. Without `version` the
    last arrival stays, so one key must then come from one task only.
    """

    connect: Connect = field(repr=False)
    """Arguments of `psycopg.connect`, or a function that returns them and is called where and when a task connects."""
    table: tuple[str, str]
    """Schema and table."""
    key: tuple[str, ...]
    """The columns of the primary key, or of a unique index."""
    columns: Mapping[str, str]
    """PostgreSQL type of each column that is written."""
    version: str | None = None
    """The column that grows with every change of a key."""
    max_rows: int = 500
    """Most rows of a flush."""
    linger_ms: float = 2
    """How long a row may wait for company before it is flushed."""
    max_pending: int = 5_000
    """Distinct keys that may wait; then `process` blocks, and the query reads no further."""
    retry_deadline_s: float = 60
    """How long one batch is tried again before the task fails."""
    flush_timeout_s: float = 35
    """After this time without an answer the connection is cut; the server is told to give up at 6/7 of it."""
    metrics: Metrics = field(init=False, repr=False, compare=False, default_factory=Metrics)
    """Of the current epoch, or of the last one."""

    def __post_init__(self) -> None:
        """Refuse what could not work, on the driver."""
        check_target(self.table, self.key, self.columns, self.version)
        for name in ("max_rows", "max_pending", "retry_deadline_s", "flush_timeout_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)!r}, so nothing would be written; use more than 0")
        self._pending: Pending | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what `open` makes: threads, and functions that cannot travel."""
        return {**self.__dict__, "metrics": Metrics(), "_pending": None, "_flusher": None, "_shape": None}

    def open(self, partition_id: int, epoch_id: int) -> bool:
        """Start an epoch; True, because Spark would skip the rows of the epoch in silence after anything else."""
        self.metrics = Metrics()
        self._shape = RowShape(self.key, self.columns, self.version)
        self._pending = Pending(self.max_rows, self.linger_ms / 1000, self.max_pending, self._patience_s, self.metrics)
        statement = upsert_statement(self.table, self.key, self.columns, self.version)
        self._name = f"{'.'.join(self.table)} partition {partition_id} epoch {epoch_id}"
        writer = Writer(self.connect, statement, self._name, self.retry_deadline_s, self.flush_timeout_s, self.metrics)
        self._flusher = Flusher(self._pending, writer, self.metrics)
        return True

    def process(self, row: "Row | Mapping[str, Any]") -> None:
        """Take a row; raise what an earlier flush failed with."""
        self._opened().put(*self._shape.read(row))

    def drain(self) -> None:
        """Return when the database has acknowledged every row so far; raise what kept it from doing so."""
        self._opened()
        self._flusher.drain()

    def close(self, error: BaseException | None) -> None:
        """Write what waits, or raise; after an error of the query drop it and stay silent. Repeats do nothing."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        try:
            if error is None:
                pending.close()
                self._flusher.drain()
        finally:
            if self._flusher.stop():
                LOG.info("%s: %s", self._name, self.metrics.line())

    def _opened(self) -> Pending:
        if self._pending is None:
            raise RuntimeError(
                f"the sink of {'.'.join(self.table)!r} is not open, so rows have no way; call open first"
            )
        return self._pending

    @property
    def _patience_s(self) -> float:
        # An attempt may begin just before the deadline of the retries, and then hang until it is cut.
        return self.retry_deadline_s + 2 * self.flush_timeout_s
