"""
Write the same rows to PostgreSQL in different ways, each as one flush.

What arrives are rows by column name, as Spark gives them; what leaves are committed rows.
A real-time sink flushes few rows often, where round trips count, and many at once after a pause, where work counts.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import psycopg

from examples.sinks import PostgresUpsertSink

COLUMNS = {"id": "bigint", "version": "bigint", "campaign": "int", "price": "double precision", "payload": "text"}
NAMES = ", ".join(COLUMNS)
UPDATES = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "id")
PLACES = ", ".join(f"%({name})s" for name in COLUMNS)
NAIVE = f"insert into {{0}} ({NAMES}) values ({PLACES}) on conflict (id) do update set {UPDATES}"
COPY = f"copy staged ({NAMES}) from stdin with (format binary)"
FROM_COPY = (
    f"insert into {{0}} as target ({NAMES}) select * from staged "
    f"on conflict (id) do update set {UPDATES} where excluded.version > target.version"
)
TABLE = """
drop table if exists {0};
create table {0} ({1}, primary key (id)) with (fillfactor = 90);
insert into {0} select n, 0, n % 100, 1.5, repeat('x', 100) from generate_series(0, {2}) n where n % {3} = 0;
"""

Row = dict[str, Any]
Flush = Callable[[list[Row]], None]


@dataclass(frozen=True)
class Keys:
    """How many keys there are, and which share of them the table knows already."""

    count: int
    one_known_of: int


HOT = Keys(1_000, 1)
COLD = Keys(400_000, 2)


def create(connection: "psycopg.Connection[Any]", table: str, keys: Keys) -> None:
    """Create `table` and fill in what it knows."""
    columns = ", ".join(f"{name} {type_name}" for name, type_name in COLUMNS.items())
    connection.execute(TABLE.format(table, columns, keys.count - 1, keys.one_known_of).encode())
    connection.execute(f"vacuum analyze {table}".encode())


def row_at_a_time(connection: "psycopg.Connection[Any]", table: str) -> Flush:
    """Execute and commit every row, on a connection with autocommit."""
    upsert = NAIVE.format(table).encode()

    def flush(rows: list[Row]) -> None:
        for row in rows:
            connection.execute(upsert, row)

    return flush


def executemany(connection: "psycopg.Connection[Any]", table: str) -> Flush:
    """Send all rows in one pipeline and one transaction, as they came: the shape that is copied everywhere."""
    upsert = NAIVE.format(table).encode()

    def flush(rows: list[Row]) -> None:
        with connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(upsert, rows)

    return flush


def copy(connection: "psycopg.Connection[Any]", table: str) -> Flush:
    """Copy into a temporary table in binary form and upsert from there; one row per key, sorted, guarded."""
    columns = ", ".join(f"{name} {type_name}" for name, type_name in COLUMNS.items())
    connection.execute(f"create temp table staged ({columns}) on commit delete rows".encode())
    upsert, types = FROM_COPY.format(table).encode(), ["int8", "int8", "int4", "float8", "text"]

    def flush(rows: list[Row]) -> None:
        with connection.transaction(), connection.cursor() as cursor:
            with cursor.copy(COPY.encode()) as stream:
                stream.set_types(types)
                for row in _newest(rows):
                    stream.write_row(tuple(row.values()))
            cursor.execute(upsert)

    return flush


def this_class(sink: PostgresUpsertSink) -> Flush:
    """Give the rows to an open sink and wait until they are acknowledged."""

    def flush(rows: list[Row]) -> None:
        for row in rows:
            sink.process(row)
        sink.drain()

    return flush


def _newest(rows: Iterable[Row]) -> list[Row]:
    newest = {row["id"]: row for row in rows}
    return [newest[key] for key in sorted(newest)]
