from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from pyspark.sql import Row

from spark_rtm.sinks import PostgresUpsertSink

COLUMNS = {"key": "text", "version": "bigint", "value": "text"}
AUDITED = """
create table {0} (key text primary key, version bigint not null, value text);
create table {0}_audit (seq bigint generated always as identity, key text, version bigint);
create function {0}_note() returns trigger language plpgsql as
    $$ begin insert into {0}_audit (key, version) values (new.key, new.version); return new; end $$;
create trigger note after insert or update on {0} for each row execute function {0}_note();
"""


@dataclass(frozen=True)
class Table:
    dsn: str
    name: str

    def rows(self) -> dict[str, tuple[int, str]]:
        return {key: (version, value) for key, version, value in ask(self.dsn, f"select * from {self.name}")}

    def applied(self) -> list[tuple[str, int]]:
        return ask(self.dsn, f"select key, version from {self.name}_audit order by seq")


def create_audited(table: Table) -> None:
    do(table.dsn, AUDITED.format(table.name))


def do(dsn: str, statements: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statements.encode())


def ask(dsn: str, query: str) -> list[Any]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(query.encode()).fetchall()


def kill_backends(dsn: str, application: str) -> int:
    pattern = application.replace("_", r"\_")
    query = f"select pg_terminate_backend(pid) from pg_stat_activity where application_name like '{pattern}%'"
    return len(ask(dsn, query))


def sink_of(table: Table, *, port: int | None = None, **options: Any) -> PostgresUpsertSink:
    """Return a sink that writes to `table`; `port` is the port of a proxy in front of the server."""
    connect = conninfo_to_dict(table.dsn) | ({"port": port} if port else {})
    defaults: dict[str, Any] = {"version": "version", "key": ("key",), "columns": COLUMNS, "allow_reverts": True}
    return PostgresUpsertSink(connect, ("public", table.name), **(defaults | options))


def row(key: str, version: int, value: str = "") -> dict[str, Any]:
    return {"key": key, "version": version, "value": value}


def write(sink: PostgresUpsertSink, *rows: Row | Mapping[str, Any]) -> None:
    """Write `rows` in one epoch; after an error, close the sink and raise the error."""
    sink.open(0, 0)
    error: BaseException | None = None
    try:
        for each in rows:
            sink.process(each)
        sink.drain()
    except BaseException as failure:
        error = failure
        raise
    finally:
        sink.close(error)
