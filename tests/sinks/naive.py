"""
A naive sink whose failures `references/postgres_sink.md` lists under "What goes wrong"; do not use it.

Its tests prove that each listed cause produces its symptom.
"""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import psycopg

from tests.sinks.helpers import Table

UPSERT = (
    "insert into {0} (key, version, value) values (%(key)s, %(version)s, %(value)s) "
    "on conflict (key) do update set version = excluded.version, value = excluded.value"
)


class NaiveSink:
    """A sink that checks the clock only in `process` and skips a window of rows when its flush fails."""

    def __init__(self, table: Table, *, linger_ms: float = 2, max_rows: int = 500, dsn: str = "") -> None:
        """Write to `table`, through `dsn` if it is given."""
        self._dsn = dsn or table.dsn
        self._upsert = UPSERT.format(table.name).encode()
        self._linger_seconds = linger_ms / 1000
        self._max_rows = max_rows

    def open(self, _partition_id: int, _epoch_id: int) -> bool:
        self._connection = psycopg.connect(self._dsn, application_name="naive")
        self._rows: list[Mapping[str, Any]] = []
        self._flushed_at = time.monotonic()
        return True

    def process(self, row: Mapping[str, Any]) -> None:
        """Buffer the row, and flush if the linger time has passed."""
        self._rows.append(row)
        if len(self._rows) >= self._max_rows or time.monotonic() - self._flushed_at >= self._linger_seconds:
            self.flush()

    def flush(self) -> None:
        """Write the buffered rows; a lost connection loses them."""
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(self._upsert, self._rows)
            self._connection.commit()
        except psycopg.OperationalError:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = psycopg.connect(self._dsn, application_name="naive")
        finally:
            self._rows.clear()
            self._flushed_at = time.monotonic()

    def close(self, _error: BaseException | None) -> None:
        """Flush and disconnect, even after an error."""
        if self._rows:
            self.flush()
        self._connection.close()
