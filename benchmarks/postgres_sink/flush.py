"""
Measure one flush with `PostgresUpsertSink`, single-row writes, executemany and COPY.

Over a network, round trips take most of a flush, so the benchmark varies the network delay and the number of rows.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from benchmarks.postgres_sink.methods import (
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
    upsert_sink,
)
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.services import LocalPostgres
from spark_rtm.services.tcp_proxy import TcpProxy
from spark_rtm.sinks import PostgresUpsertSink

ROUNDS = {1: 200, 10: 150, 100: 100, 1_000: 30, 10_000: 8}
"""Number of measured rounds by rows per flush."""
MAX_ROWS = {"local": 10_000, "1 ms RTT": 100}
"""Maximum rows per flush by network. In larger flushes, round trips take a negligible share of time."""
WARM_UP_ROUNDS = 7
"""Number of warm-up rounds, after which psycopg has prepared its statements."""
MAX_SINGLE_ROWS = 20_000
"""Maximum number of single-row writes per flush size, which would otherwise take most of the time."""
DELAY_SECONDS = 0.0005
"""Delay in each direction, which adds 1 ms to a round trip."""
SINK_METHOD = "PostgresUpsertSink"
REFERENCE_METHOD = "executemany"
METHODS = ("row at a time", REFERENCE_METHOD, "copy", SINK_METHOD)


@dataclass(frozen=True)
class FlushCase:
    """Time from a flush's first row to its acknowledged commit, for one method, size, network and key range."""

    network: str
    keys: str
    rows: int
    method: str
    rounds: int
    p50_ms: float
    p99_ms: float
    times_executemany: float
    """p50 of executemany divided by the p50 of this method."""


def measure_flushes(
    server: LocalPostgres,
    scale: float = 1,
    max_rows: int = 10_000,
    is_selected: Callable[[str, str], bool] = lambda _network, _keys: True,
) -> Iterator[FlushCase]:
    """
    Yield all cases: locally and with a round trip of 1 ms, with few keys (hot) and with many keys (cold).

    `scale` multiplies the number of rounds. Sizes above `max_rows` are omitted.
    """
    with TcpProxy(("127.0.0.1", server.port), DELAY_SECONDS) as proxy:
        for name, keys in (("hot", HOT), ("cold", COLD)):
            networks = {"local": server.port, "1 ms RTT": proxy.port}
            selected = {network: port for network, port in networks.items() if is_selected(network, name)}
            if not selected:
                continue
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                for method in METHODS:
                    create(connection, _table(method), keys)
            for network, port in selected.items():
                sizes = [rows for rows in ROUNDS if rows <= min(max_rows, MAX_ROWS[network])]
                with _flushes(server.dsn, port) as flushes:
                    for rows in sizes:
                        rounds = max(1, int(ROUNDS[rows] * scale))
                        yield from _cases(flushes, keys, rows, rounds, (network, name))


def round_trip_ms(dsn: str, port: int) -> float:
    """Return the median duration of a trivial query."""
    with psycopg.connect(**_connect(dsn, port)) as connection:
        times_ms = [_time_ms(lambda: connection.execute("select 1")) for _ in range(200)]
    return percentiles(times_ms, [0.5])[0]


@contextmanager
def _flushes(dsn: str, port: int) -> Iterator[dict[str, Flush]]:
    sink = PostgresUpsertSink(_connect(dsn, port), ("public", _table(SINK_METHOD)), ("id",), COLUMNS, "version")
    with ExitStack() as stack:
        others = {"row at a time": row_at_a_time, REFERENCE_METHOD: executemany, "copy": copy}
        flushes = {
            method: prepare(stack.enter_context(psycopg.connect(**_connect(dsn, port))), _table(method))
            for method, prepare in others.items()
        }
        sink.open(0, 0)
        yield {**flushes, SINK_METHOD: upsert_sink(sink)}
        sink.close(None)


def _table(method: str) -> str:
    return f"bench_{method.replace(' ', '_').lower()}"


def _cases(
    flushes: dict[str, Flush], keys: Keys, rows: int, rounds: int, place: tuple[str, str]
) -> Iterator[FlushCase]:
    rng, times_ms = random.Random(7), {method: list[float]() for method in METHODS}
    for number in range(-WARM_UP_ROUNDS if rows < 1_000 else -1, rounds):
        batch = _batch(rng, keys, rows)
        # Every round runs all methods in random order, so a busy period of the machine affects all methods equally.
        for method in rng.sample(METHODS, len(METHODS)):
            if method == "row at a time" and rows * (number + 1) > MAX_SINGLE_ROWS:
                continue
            took_ms = _time_ms(partial(flushes[method], batch))
            if number >= 0:
                times_ms[method].append(took_ms)
    [reference_ms] = percentiles(times_ms[REFERENCE_METHOD], [0.5])
    for method, measured_ms in times_ms.items():
        p50_ms, p99_ms = percentiles(measured_ms, (0.5, 0.99))
        ratio = round(reference_ms / p50_ms, 2)
        yield FlushCase(*place, rows, method, len(measured_ms), round(p50_ms, 3), round(p99_ms, 3), ratio)


def _batch(rng: random.Random, keys: Keys, rows: int) -> list[Row]:
    version = time.time_ns()
    fixed = {"campaign": 7, "price": 1.25, "payload": "y" * 100}
    return [{"id": rng.randrange(keys.count), "version": version + n, **fixed} for n in range(rows)]


def _time_ms(action: Callable[[], object]) -> float:
    started_at = time.perf_counter()
    action()
    return (time.perf_counter() - started_at) * 1000


def _connect(dsn: str, port: int) -> dict[str, Any]:
    return {**conninfo_to_dict(dsn), "port": port, "autocommit": True}
