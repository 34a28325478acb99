"""The benchmark of the sink: all methods store the same rows, and times end with the commit in the database."""

import contextlib
import json
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from benchmarks.harness.benchmark import run
from benchmarks.postgres_sink.chart import draw
from benchmarks.postgres_sink.end_to_end import commit_times_ms, enable_commit_times, send
from benchmarks.postgres_sink.flush import FlushCase, round_trip_ms
from benchmarks.postgres_sink.measure import BENCHMARK, single_row_ms
from benchmarks.postgres_sink.methods import HOT, Flush, copy, create, executemany, row_at_a_time
from examples.attribution.attributed_table import COLUMNS, create_tables, results_sink
from examples.attribution.settings import DemoSettings, Settings
from spark_rtm.services import LocalPostgres, running
from spark_rtm.services.tcp_proxy import TcpProxy

pytestmark = pytest.mark.services

ROWS = [{"id": n % 7, "version": n + 1, "campaign": n, "price": n / 4, "payload": f"of {n}"} for n in range(20)]


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    """Start a server for this module only, because a measurement restarts it."""
    with running(LocalPostgres()) as local:
        yield local


@pytest.mark.parametrize("method", [row_at_a_time, executemany, copy])
def test_each_method_stores_the_newest_row_of_each_key(
    server: LocalPostgres, method: Callable[[psycopg.Connection, str], Flush]
) -> None:
    """All methods do the same work if rows are ordered by version; two of them do not check the version."""
    table = f"test_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        create(connection, table, HOT)

        method(connection, table)(ROWS)

        newest = {row["id"]: tuple(row.values()) for row in ROWS}
        stored = connection.execute(f"select * from {table} where version > 0 order by id".encode()).fetchall()
        assert sorted(newest.values()) == stored
        connection.execute(f"drop table {table}".encode())


def test_round_trip_is_longer_by_the_delay_of_the_proxy(server: LocalPostgres) -> None:
    """A delay of 0.5 ms in each direction adds at least 1 ms to a round trip."""
    with TcpProxy(("127.0.0.1", server.port), delay_seconds=0.0005) as proxy:
        assert round_trip_ms(server.dsn, proxy.port) >= 1.0 + 0.5 * round_trip_ms(server.dsn, server.port)


def test_commit_time_is_between_sending_and_reading(server: LocalPostgres) -> None:
    """The database itself stores the end of the measured time, so it does not depend on when a row is read."""
    settings = DemoSettings(topic_prefix=f"test-{uuid.uuid4().hex[:8]}.")
    enable_commit_times(server)
    create_tables(server.dsn, settings)
    sink = results_sink(dict(conninfo_to_dict(server.dsn)), settings)
    sink.open(0, 0)

    before = time.time() * 1000
    sink.process(dict.fromkeys(COLUMNS) | {"result_id": "a", "version": 1})
    sink.close(None)
    after = time.time() * 1000

    assert before < commit_times_ms(server.dsn, settings)["a"] < after


def test_sent_results_have_the_append_time_of_the_broker(kafka: str, settings: Settings) -> None:
    before = int(time.time() * 1000)

    appended = send(kafka, settings, rate=100, seconds=0.2)

    assert {str(n) for n in range(20)} == set(appended)
    assert all(before <= at <= time.time() * 1000 for at in appended.values())


def test_single_row_is_visible_only_after_the_linger_time(server: LocalPostgres) -> None:
    """The sink waits 2 ms for more rows before it writes a single row."""
    assert all(2 <= ms for ms in single_row_ms(server.dsn, 20))


def test_benchmark_prints_ratios_and_writes_json_and_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.chdir(tmp_path):
        assert 0 == run(BENCHMARK, ["--scale", "0.01", "--max-rows", "10", "--skip-end-to-end"])

    written = json.loads((tmp_path / "build/benchmarks/postgres_sink.json").read_text())
    cases = [FlushCase(**case) for case in written["flushes"]]
    [again] = draw(cases, tmp_path)
    assert (tmp_path / "build/benchmarks/postgres_sink.svg").read_bytes() == again.read_bytes()
    text = capsys.readouterr().out
    assert "a single row is visible after p50" in text
    for case in cases:
        assert f"{case.times_executemany:.2f} ({case.p50_ms:.2f})" in text
