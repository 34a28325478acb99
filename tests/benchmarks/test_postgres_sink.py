"""The sink's benchmark measures what it says: its methods store the same rows, its clock is the database's."""

import contextlib
import itertools
import json
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from examples.attribution.attributed_table import COLUMNS, create_tables, results_sink
from examples.attribution.settings import Settings
from examples.benchmarks.postgres_sink import lone_row_ms, main
from examples.benchmarks.sink.chart import draw
from examples.benchmarks.sink.end_to_end import commit_times, keep_commit_times, send
from examples.benchmarks.sink.flush import BASE, METHODS, Cell, measure_flushes, round_trip_ms
from examples.benchmarks.sink.methods import HOT, Flush, copy, create, executemany, row_at_a_time
from examples.benchmarks.sink.tcp_proxy import TcpProxy
from examples.services import LocalPostgres, running

pytestmark = pytest.mark.services

ROWS = [{"id": n % 7, "version": n + 1, "campaign": n, "price": n / 4, "payload": f"of {n}"} for n in range(20)]


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    """Yield a server of this module's own, because a measurement restarts it."""
    with running(LocalPostgres()) as local:
        yield local


@pytest.mark.parametrize("method", [row_at_a_time, executemany, copy])
def test_every_other_method_stores_the_newest_row_of_each_key(
    server: LocalPostgres, method: Callable[[psycopg.Connection, str], Flush]
) -> None:
    """What is compared does the same work; rows in order of version hide that two of them have no guard."""
    table = f"test_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        create(connection, table, HOT)

        method(connection, table)(ROWS)

        newest = {row["id"]: tuple(row.values()) for row in ROWS}
        stored = connection.execute(f"select * from {table} where version > 0 order by id".encode()).fetchall()
        assert sorted(newest.values()) == stored
        connection.execute(f"drop table {table}".encode())


def test_cells_cover_every_size_method_and_network_and_compare_with_executemany(server: LocalPostgres) -> None:
    """No size is left out, and the ratio of the base is one."""
    cells = list(measure_flushes(server, effort=0.01, most_rows=100))

    sizes = itertools.product(("local", "1 ms RTT"), (1, 10, 100))
    expected = {(*size, keys, method) for size in sizes for keys in ("hot", "cold") for method in METHODS}
    assert expected == {(cell.network, cell.rows, cell.keys, cell.method) for cell in cells}
    assert {1.0} == {cell.times_executemany for cell in cells if cell.method == BASE}
    assert all(cell.p50_ms > 0 for cell in cells)


def test_the_slower_network_is_slower_by_its_delay(server: LocalPostgres) -> None:
    """Half a millisecond each way is at least one for a round trip."""
    with TcpProxy(("127.0.0.1", server.port), delay_s=0.0005) as proxy:
        assert round_trip_ms(server.dsn, proxy.port) >= 1.0 + 0.5 * round_trip_ms(server.dsn, server.port)


def test_commit_times_are_those_of_the_server_between_sending_and_reading(server: LocalPostgres) -> None:
    """The clock of a path ends in the database, whoever looks and when."""
    settings = Settings(topic_prefix=f"test-{uuid.uuid4().hex[:8]}.")
    keep_commit_times(server)
    create_tables(server.dsn, settings)
    sink = results_sink(dict(conninfo_to_dict(server.dsn)), settings)
    sink.open(0, 0)

    before = time.time() * 1000
    sink.process(dict.fromkeys(COLUMNS) | {"result_id": "a", "version": 1})
    sink.close(None)
    after = time.time() * 1000

    assert before < commit_times(server.dsn, settings)["a"] < after


def test_sent_results_come_with_the_brokers_append_time(kafka: str, settings: Settings) -> None:
    """The clock of a path starts where latencies of the pipeline start too."""
    before = int(time.time() * 1000)

    appended = send(kafka, settings, rate=100, seconds=0.2)

    assert {str(n) for n in range(20)} == set(appended)
    assert all(before <= at <= time.time() * 1000 for at in appended.values())


def test_a_lone_row_is_timed_until_a_reader_sees_it(server: LocalPostgres) -> None:
    """It cannot be faster than the sink's linger time."""
    assert all(2 <= ms for ms in lone_row_ms(server.dsn, 20))


def test_the_command_prints_the_ratios_and_writes_both_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files are enough to draw the table again, and the same cells give the same chart."""
    with contextlib.chdir(tmp_path):
        assert 0 == main(["--effort", "0.01", "--most-rows", "10", "--no-paths"])

    written = json.loads((tmp_path / "build/sink/sink.json").read_text())
    cells = [Cell(**cell) for cell in written["flushes"]]
    draw(cells, tmp_path / "again.svg")
    assert (tmp_path / "build/sink/sink.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()
    text = capsys.readouterr().out
    assert "a lone row is visible after p50" in text
    for cell in cells:
        assert f"{cell.times_executemany:.2f} ({cell.p50_ms:.2f})" in text
