"""The benchmark of the sink: all methods store the same rows, and times end with the commit in the database."""

import contextlib
import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from benchmarks.harness.benchmark import run
from benchmarks.postgres_sink import measure
from benchmarks.postgres_sink.flush import flushes
from benchmarks.postgres_sink.measure import commit_times_ms, enable_commit_times, single_row_ms
from examples.attribution.attributed_table import COLUMNS, create_tables, results_sink
from examples.attribution.settings import DemoSettings
from spark_rtm.services import LocalPostgres, running

pytestmark = pytest.mark.services

ROWS = [{"id": n % 7, "version": n + 1, "campaign": n, "price": n / 4, "payload": f"of {n}"} for n in range(20)]


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    """Start a server for this module only, because a measurement restarts it."""
    with running(LocalPostgres()) as local:
        yield local


def test_each_method_stores_the_newest_row_of_each_key(server: LocalPostgres) -> None:
    """All methods do the same work if rows are ordered by version; executemany does not check the version."""
    newest = sorted({row["id"]: tuple(row.values()) for row in ROWS}.values())

    with flushes(server.dsn, server.port, "hot") as methods, psycopg.connect(server.dsn) as connection:
        for method in methods.values():
            method(ROWS)
        for table in ("by_executemany", "by_copy", "by_sink"):
            stored = connection.execute(f"select * from {table} where version > 0 order by id".encode()).fetchall()
            assert newest == stored


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


def test_single_row_is_visible_only_after_the_linger_time(server: LocalPostgres) -> None:
    """The sink waits 2 ms for more rows before it writes a single row."""
    assert all(2 <= ms for ms in single_row_ms(server.dsn, 20))


def test_benchmark_compares_each_method_with_executemany(tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        assert 0 == run("postgres-sink", measure, ["--scale", "0.01", "--filter", "flush, 1 ms RTT, hot"])

    written = json.loads((tmp_path / "build/benchmarks/postgres_sink.json").read_text())
    sizes = {case["rows"] for case in written["flushes"]}
    assert {1, 10, 100} == sizes
    for size in sizes:
        reference, *others = [case for case in written["flushes"] if case["rows"] == size]
        assert ("executemany", 1.0, 2) == (reference["method"], reference["times_executemany"], len(others))
        for case in others:
            assert case["times_executemany"] == pytest.approx(reference["p50_ms"] / case["p50_ms"], abs=0.05)
    # The proxy delays each direction by half a millisecond.
    assert all(case["p50_ms"] >= 1 for case in written["flushes"])
    assert [] == written["end_to_end"]
