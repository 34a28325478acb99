"""
Methods that write the same rows to PostgreSQL in one flush.

A real-time sink usually flushes only a few rows, so round trips dominate. After a pause between batches, it flushes
many rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import psycopg

from spark_rtm.sinks import PostgresUpsertSink

COLUMNS = {"id": "bigint", "version": "bigint", "campaign": "int", "price": "double precision", "payload": "text"}
NAMES = ", ".join(COLUMNS)
UPDATES = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "id")
PLACEHOLDERS = ", ".join(f"%({name})s" for name in COLUMNS)
UPSERT_SQL = f"insert into {{0}} ({NAMES}) values ({PLACEHOLDERS}) on conflict (id) do update set {UPDATES}"
COPY_SQL = f"copy staged ({NAMES}) from stdin with (format binary)"
UPSERT_COPIED_SQL = (
    f"insert into {{0}} as target ({NAMES}) select * from staged "
    f"on conflict (id) do update set {UPDATES} where excluded.version > target.version"
)
CREATE_SQL = """
drop table if exists {0};
create table {0} ({1}, primary key (id)) with (fillfactor = 90);
insert into {0} select n, 0, n % 100, 1.5, repeat('x', 100) from generate_series(0, {2}) n where n % {3} = 0;
"""

Row = dict[str, Any]
Flush = Callable[[list[Row]], None]


@dataclass(frozen=True)
class Keys:
    """A range of keys, and the share of keys that the table already contains."""

    count: int
    existing_every: int
    """Distance between existing keys in the table."""


HOT = Keys(1_000, 1)
COLD = Keys(400_000, 2)


def create(connection: "psycopg.Connection[Any]", table: str, keys: Keys) -> None:
    """Create `table` and insert a row for each existing key."""
    columns = ", ".join(f"{name} {type_name}" for name, type_name in COLUMNS.items())
    connection.execute(CREATE_SQL.format(table, columns, keys.count - 1, keys.existing_every).encode())
    connection.execute(f"vacuum analyze {table}".encode())


def row_at_a_time(connection: "psycopg.Connection[Any]", table: str) -> Flush:
    """Return a function that writes and commits each row separately. The connection must use autocommit."""
    upsert = UPSERT_SQL.format(table).encode()

    def flush(rows: list[Row]) -> None:
        for row in rows:
            connection.execute(upsert, row)

    return flush


def executemany(connection: "psycopg.Connection[Any]", table: str) -> Flush:
    """Return the most common method, which writes all rows in order, in one pipeline and one transaction."""
    upsert = UPSERT_SQL.format(table).encode()

    def flush(rows: list[Row]) -> None:
        with connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(upsert, rows)

    return flush


def copy(connection: "psycopg.Connection[Any]", table: str) -> Flush:
    """Return a function that copies each key's newest row to a temporary table in binary form, and upserts it."""
    columns = ", ".join(f"{name} {type_name}" for name, type_name in COLUMNS.items())
    connection.execute(f"create temp table staged ({columns}) on commit delete rows".encode())
    upsert, types = UPSERT_COPIED_SQL.format(table).encode(), ["int8", "int8", "int4", "float8", "text"]

    def flush(rows: list[Row]) -> None:
        with connection.transaction(), connection.cursor() as cursor:
            with cursor.copy(COPY_SQL.encode()) as stream:
                stream.set_types(types)
                for row in _newest(rows):
                    stream.write_row(tuple(row.values()))
            cursor.execute(upsert)

    return flush


def upsert_sink(sink: PostgresUpsertSink) -> Flush:
    """Return a function that passes rows to an open sink, and waits until the database has acknowledged them."""

    def flush(rows: list[Row]) -> None:
        for row in rows:
            sink.process(row)
        sink.drain()

    return flush


def _newest(rows: Iterable[Row]) -> list[Row]:
    newest = {row["id"]: row for row in rows}
    return [newest[key] for key in sorted(newest)]
