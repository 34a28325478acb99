"""
Compare ways of writing a flush: the class against a row at a time, executemany and COPY, by number of rows.

What arrives is a server; what leaves is a list of cells, each with the time of the median flush.
Real-time latency contains one flush, and over a network one flush is mostly round trips, so both are varied.
"""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from examples.benchmarks.sink.methods import (
    COLD,
    COLUMNS,
    HOT,
    Flush,
    Keys,
    Row,
    copy,
    create,
    executemany,
    row_at_a_time,
    this_class,
)
from examples.benchmarks.sink.tcp_proxy import TcpProxy
from examples.measure.percentiles import percentiles
from examples.services import LocalPostgres
from examples.sinks import PostgresUpsertSink

ROUNDS = {1: 200, 10: 150, 100: 100, 1_000: 30, 10_000: 8}
MOST_ROWS = {"local": 10_000, "1 ms RTT": 100}
"""With larger flushes a round trip no longer counts."""
WARM_UP_ROUNDS = 7
"""More than psycopg needs to prepare a statement."""
MOST_SINGLE_ROWS = 20_000
"""A row at a time takes no part in further rounds of a size after this many rows: it would take most of the time."""
DELAY_S = 0.0005
"""Each way, so that a round trip takes 1 ms longer."""
METHODS = ("row at a time", "executemany", "copy", "this class")
BASE = "executemany"


@dataclass(frozen=True)
class Cell:
    """Milliseconds from the first row of a flush to its acknowledged commit."""

    network: str
    keys: str
    rows: int
    method: str
    rounds: int
    p50_ms: float
    p99_ms: float
    times_executemany: float
    """How many times faster than executemany the median flush was."""


def measure_flushes(server: LocalPostgres, effort: float = 1, most_rows: int = 10_000) -> Iterator[Cell]:
    """
    Yield the cells: on this machine and with 1 ms added round trip, each on few keys and on many.

    `effort` is the share of the usual rounds; sizes above `most_rows` are left out.
    """
    with TcpProxy(("127.0.0.1", server.port), DELAY_S) as proxy:
        for name, keys in (("hot", HOT), ("cold", COLD)):
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                for method in METHODS:
                    create(connection, _table(method), keys)
            for network, port in (("local", server.port), ("1 ms RTT", proxy.port)):
                sizes = [rows for rows in ROUNDS if rows <= min(most_rows, MOST_ROWS[network])]
                with _flushes(server.dsn, port) as flushes:
                    for rows in sizes:
                        rounds = max(1, int(ROUNDS[rows] * effort))
                        yield from _cells(flushes, keys, rows, rounds, (network, name))


def round_trip_ms(dsn: str, port: int) -> float:
    """Return the median of a query without work."""
    with psycopg.connect(**_connect(dsn, port)) as connection:
        times = [_timed(lambda: connection.execute("select 1")) for _ in range(200)]
    return percentiles(times, [0.5])[0]


@contextmanager
def _flushes(dsn: str, port: int) -> Iterator[dict[str, Flush]]:
    sink = PostgresUpsertSink(_connect(dsn, port), ("public", _table("this class")), ("id",), COLUMNS, "version")
    with ExitStack() as stack:
        others = {"row at a time": row_at_a_time, "executemany": executemany, "copy": copy}
        flushes = {
            method: prepare(stack.enter_context(psycopg.connect(**_connect(dsn, port))), _table(method))
            for method, prepare in others.items()
        }
        sink.open(0, 0)
        yield {**flushes, "this class": this_class(sink)}
        sink.close(None)


def _table(method: str) -> str:
    return f"bench_{method.replace(' ', '_')}"


def _cells(flushes: dict[str, Flush], keys: Keys, rows: int, rounds: int, place: tuple[str, str]) -> Iterator[Cell]:
    rng, times = random.Random(7), {method: list[float]() for method in METHODS}
    for number in range(-WARM_UP_ROUNDS if rows < 1_000 else -1, rounds):
        batch = _batch(rng, keys, rows)
        # All methods take turns in every round, so that a busy moment of the machine hits all of them alike.
        for method in rng.sample(METHODS, len(METHODS)):
            if method == "row at a time" and rows * (number + 1) > MOST_SINGLE_ROWS:
                continue
            took_ms = _timed(lambda method=method, batch=batch: flushes[method](batch))
            if number >= 0:
                times[method].append(took_ms)
    base = percentiles(times[BASE], [0.5])[0]
    for method, measured in times.items():
        p50, p99 = percentiles(measured, (0.5, 0.99))
        yield Cell(*place, rows, method, len(measured), round(p50, 3), round(p99, 3), round(base / p50, 2))


def _batch(rng: random.Random, keys: Keys, rows: int) -> list[Row]:
    version = time.time_ns()
    fixed = {"campaign": 7, "price": 1.25, "payload": "y" * 100}
    return [{"id": rng.randrange(keys.count), "version": version + n, **fixed} for n in range(rows)]


def _timed(work: Any) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def _connect(dsn: str, port: int) -> dict[str, Any]:
    return {**conninfo_to_dict(dsn), "port": port, "autocommit": True}
