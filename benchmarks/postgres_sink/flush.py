"""
Measure one flush of the same rows with `PostgresUpsertSink`, with executemany and with COPY.

A real-time sink usually flushes a few rows, so round trips take most of the time. After a pause, it flushes many rows.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from spark_rtm.measure.percentiles import percentiles
from spark_rtm.services import LocalPostgres
from spark_rtm.services.tcp_proxy import TcpProxy
from spark_rtm.sinks import PostgresUpsertSink

COLUMNS = {"id": "bigint", "version": "bigint", "campaign": "int", "price": "double precision", "payload": "text"}
NAMES = ", ".join(COLUMNS)
TYPES = ", ".join(f"{name} {type_name}" for name, type_name in COLUMNS.items())
UPDATES = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "id")
UPSERT_SQL = f"""
insert into {{0}} ({NAMES}) values ({", ".join(f"%({name})s" for name in COLUMNS)})
    on conflict (id) do update set {UPDATES}
"""
COPY_SQL = f"copy staged ({NAMES}) from stdin with (format binary)"
COPIED_SQL = f"""
insert into {{0}} as target ({NAMES}) select * from staged
    on conflict (id) do update set {UPDATES} where excluded.version > target.version
"""
CREATE_SQL = f"""
drop table if exists {{0}};
create table {{0}} ({TYPES}, primary key (id)) with (fillfactor = 90);
insert into {{0}} select n, 0, n % 100, 1.5, repeat('x', 100) from generate_series(0, {{1}}) n where n % {{2}} = 0;
"""
KEYS = {"hot": (1_000, 1), "cold": (400_000, 2)}
"""The number of keys, and the distance between those that the table already contains."""
ROUNDS = {1: 200, 10: 150, 100: 100, 1_000: 30, 10_000: 8}
"""Number of measured rounds by rows per flush."""
MAX_ROWS = {"local": 10_000, "1 ms RTT": 100}
"""Maximum rows per flush by network. In larger flushes, round trips take a negligible share of time."""
WARM_UP_ROUNDS = 7
"""Number of warm-up rounds, after which psycopg has prepared its statements."""
DELAY_SECONDS = 0.0005
"""Delay in each direction, which adds 1 ms to a round trip."""
REFERENCE = "executemany"

Row = dict[str, Any]
Flush = Callable[[list[Row]], None]


def measure_flushes(
    server: LocalPostgres, scale: float, is_selected: Callable[[str, str], bool]
) -> Iterator[dict[str, Any]]:
    """Yield a row per network, range of keys, number of rows and method. `scale` multiplies the number of rounds."""
    with TcpProxy(("127.0.0.1", server.port), DELAY_SECONDS) as proxy:
        ports = {"local": server.port, "1 ms RTT": proxy.port}
        for network, keys in [(network, keys) for keys in KEYS for network in ports if is_selected(network, keys)]:
            with flushes(server.dsn, ports[network], keys) as methods:
                for rows in (rows for rows in ROUNDS if rows <= MAX_ROWS[network]):
                    for case in _cases(methods, KEYS[keys][0], rows, max(1, int(ROUNDS[rows] * scale))):
                        yield {"network": network, "keys": keys, "rows": rows, **case}


@contextmanager
def flushes(dsn: str, port: int, keys: str) -> Iterator[dict[str, Flush]]:
    """Create a table per method, and yield the methods by name. Each method writes rows and waits for the commit."""
    with ExitStack() as stack:
        connections = [stack.enter_context(psycopg.connect(**_confs(dsn, port))) for _ in range(2)]
        for table in ("by_executemany", "by_copy", "by_sink"):
            create(connections[0], table, keys)
        connections[1].execute(f"create temp table staged ({TYPES}) on commit delete rows".encode())
        sink = PostgresUpsertSink(_confs(dsn, port), ("public", "by_sink"), ("id",), COLUMNS, "version")
        sink.open(0, 0)
        yield {
            REFERENCE: partial(_executemany, connections[0]),
            "copy": partial(_copy, connections[1]),
            "PostgresUpsertSink": partial(_upsert, sink),
        }
        sink.close(None)


def create(connection: "psycopg.Connection[Any]", table: str, keys: str) -> None:
    """Create a table with a row for each existing key of a range."""
    count, every = KEYS[keys]
    connection.execute(CREATE_SQL.format(table, count - 1, every).encode())
    connection.execute(f"vacuum analyze {table}".encode())


def _executemany(connection: "psycopg.Connection[Any]", rows: list[Row]) -> None:
    with connection.transaction(), connection.cursor() as cursor:
        cursor.executemany(UPSERT_SQL.format("by_executemany").encode(), rows)


def _copy(connection: "psycopg.Connection[Any]", rows: list[Row]) -> None:
    """Copy each key's newest row to a temporary table in binary form, and upsert the copied rows."""
    newest = {row["id"]: row for row in rows}
    with connection.transaction(), connection.cursor() as cursor:
        with cursor.copy(COPY_SQL.encode()) as stream:
            stream.set_types(["int8", "int8", "int4", "float8", "text"])
            for key in sorted(newest):
                stream.write_row(tuple(newest[key].values()))
        cursor.execute(COPIED_SQL.format("by_copy").encode())


def _upsert(sink: PostgresUpsertSink, rows: list[Row]) -> None:
    for row in rows:
        sink.process(row)
    sink.drain()


def _cases(methods: Mapping[str, Flush], keys: int, rows: int, rounds: int) -> Iterator[dict[str, Any]]:
    rng, times_ms = random.Random(7), {method: list[float]() for method in methods}
    for number in range(-WARM_UP_ROUNDS if rows < 1_000 else -1, rounds):
        version, fixed = time.time_ns(), {"campaign": 7, "price": 1.25, "payload": "y" * 100}
        batch = [{"id": rng.randrange(keys), "version": version + n, **fixed} for n in range(rows)]
        # Every round runs all methods in random order, so a busy period of the machine affects all methods equally.
        for method in rng.sample([*methods], len(methods)):
            started_at = time.perf_counter()
            methods[method](batch)
            if number >= 0:
                times_ms[method].append((time.perf_counter() - started_at) * 1000)
    [reference_ms] = percentiles(times_ms[REFERENCE], [0.5])
    for method, measured_ms in times_ms.items():
        p50_ms, p99_ms = (round(value, 3) for value in percentiles(measured_ms, (0.5, 0.99)))
        found = {"method": method, "rounds": len(measured_ms), "p50_ms": p50_ms, "p99_ms": p99_ms}
        yield {**found, "times_executemany": round(reference_ms / p50_ms, 2)}


def _confs(dsn: str, port: int) -> dict[str, Any]:
    return {**conninfo_to_dict(dsn), "port": port, "autocommit": True}
