"""The sink that is copied everywhere, to show beside ours what it does: nothing here is to be used."""

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
    """Rows wait in `process`, whose next call looks at the clock; a window that fails is skipped."""

    def __init__(self, table: Table, *, dwell_ms: float = 2, max_rows: int = 500, dsn: str = "") -> None:
        """Write to `table`, by way of `dsn` if there is one."""
        self._dsn, self._upsert = dsn or table.dsn, UPSERT.format(table.name).encode()
        self._dwell_s, self._max_rows = dwell_ms / 1000, max_rows

    def open(self, _partition_id: int, _epoch_id: int) -> bool:
        """Connect."""
        self._connection = psycopg.connect(self._dsn, application_name="naive")
        self._rows: list[Mapping[str, Any]] = []
        self._flushed_at = time.monotonic()
        return True

    def process(self, row: Mapping[str, Any]) -> None:
        """Keep the row, and flush if it is time."""
        self._rows.append(row)
        if len(self._rows) >= self._max_rows or time.monotonic() - self._flushed_at >= self._dwell_s:
            self.flush()

    def flush(self) -> None:
        """Write what waits; a lost connection costs the window."""
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
        """Flush and leave, whatever has happened."""
        if self._rows:
            self.flush()
        self._connection.close()
