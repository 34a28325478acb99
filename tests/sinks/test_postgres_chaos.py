"""Servers restart, answers get lost, writers collide: nothing is missing, applied twice, or going back."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from examples.benchmarks.sink.tcp_proxy import TcpProxy
from examples.services import LocalPostgres
from examples.sinks import PostgresUpsertSink
from tests.helpers import eventually
from tests.sinks.helpers import Table, ask, kill_backends, row, sink_of
from tests.sinks.naive import NaiveSink

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]

KEYS = 200
ROUNDS = 5


class Writers:
    """Two tasks that write the same keys at the same time, each with versions of its own."""

    def __init__(self, sinks: list[PostgresUpsertSink]) -> None:
        """Take open sinks."""
        self.sinks, self.newest = sinks, [dict[str, int]() for _ in sinks]
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(len(sinks))]

    def written(self) -> int:
        """Return the rows that the database has acknowledged."""
        return sum(sink.metrics.flushed for sink in self.sinks)

    def wait_for_more(self) -> None:
        """Return when the database has acknowledged many more rows."""
        before = self.written()
        eventually(lambda: self.written() > before + KEYS, 20, "more rows")

    def expected(self) -> dict[str, tuple[int, str]]:
        """Return the newest row of each key, whoever wrote it."""
        mine, other = self.newest
        return {key: (max(mine.get(key, 0), other.get(key, 0)), "") for key in mine | other}

    def __enter__(self) -> "Writers":
        """Start both."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End both, and drain their sinks."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        for sink in self.sinks:
            sink.close(None)

    def _write(self, number: int) -> None:
        version, step = number, len(self.sinks)
        while not self._stop.wait(0.002):
            for _ in range(10):
                version += step
                # Both walk through all keys, in opposite directions.
                key = str((version if number else -version) % KEYS)
                self.sinks[number].process(row(key, version))
                self.newest[number][key] = version


@contextmanager
def writing(table: Table, *, port: int | None = None) -> Iterator[Writers]:
    """Run two writers around the block, and check afterwards what they have left."""
    sinks = [sink_of(table, port=port, max_pending=200, flush_timeout_s=2) for _ in range(2)]
    for partition, sink in enumerate(sinks):
        sink.open(partition, 0)
    with Writers(sinks) as writers:
        writers.wait_for_more()
        yield writers
    assert writers.expected() == table.rows()
    assert_applied_once_and_forward(table)


def assert_applied_once_and_forward(table: Table) -> None:
    """Fail if a version was applied twice or after a newer one."""
    last: dict[str, int] = {}
    for key, version in table.applied():
        assert version > last.get(key, -1), f"{key} went from version {last[key]} to {version}"
        last[key] = version


def kill_both(server: LocalPostgres, table: Table) -> None:
    """End the connections of both writers."""
    eventually(lambda: kill_backends(server.dsn, f"public.{table.name} "), 10, "a connection to kill")


def restart(server: LocalPostgres, _table: Table) -> None:
    """Restart the server as an administrator does."""
    server.stop()
    server.start()


def crash(server: LocalPostgres, _table: Table) -> None:
    """Restart the server as a power cut does."""
    server.kill()
    server.start()


@pytest.mark.parametrize("harm", [kill_both, restart, crash])
def test_a_server_that_goes_away_again_and_again_costs_nothing(
    server: LocalPostgres, table: Table, harm: Callable[[LocalPostgres, Table], None]
) -> None:
    """Whether connections, the server or the machine end: each batch is tried until it is acknowledged."""
    with writing(table) as writers:
        for _ in range(ROUNDS):
            harm(server, table)
            writers.wait_for_more()

    assert ROUNDS <= sum(sink.metrics.reconnects for sink in writers.sinks)


def test_a_killed_connection_loses_a_window_of_the_naive_design_in_silence(table: Table) -> None:
    """It connects again and goes on; without an error Spark has nothing to repeat."""
    naive = NaiveSink(table, max_rows=10, dwell_ms=60_000)
    naive.open(0, 0)

    for n in range(60):
        if n == 15:
            kill_backends(table.dsn, "naive")
        naive.process(row(str(n), 1))
    naive.close(None)

    assert {str(n) for n in range(60) if not 10 <= n < 20} == set(table.rows())


def lose_next_commit(proxy: TcpProxy, replacement: bytes | None) -> threading.Event:
    """Replace the next answer to an insert, and tell when it has come to that."""
    is_lost = threading.Event()

    def answer(chunk: bytes) -> bytes | None:
        if b"INSERT 0" in chunk and not is_lost.is_set():
            is_lost.set()
            return replacement
        return chunk

    proxy.answer = answer
    return is_lost


@pytest.fixture
def proxy(server: LocalPostgres) -> Iterator[TcpProxy]:
    """Yield a way to the server that can lose answers."""
    with TcpProxy(("127.0.0.1", server.port)) as between:
        yield between


@pytest.mark.parametrize("replacement", [None, b""], ids=["connection-cut", "silence"])
def test_lost_acknowledgements_are_neither_lost_rows_nor_double_ones(
    table: Table, proxy: TcpProxy, replacement: bytes | None
) -> None:
    """The rows are there and the sink cannot know: it repeats them, and the guard makes them meet themselves."""
    with writing(table, port=proxy.port) as writers:
        for _ in range(ROUNDS):
            is_lost = lose_next_commit(proxy, replacement)
            eventually(is_lost.is_set, 20, "an acknowledgement to lose")
            writers.wait_for_more()

    assert ROUNDS == sum(sink.metrics.retries for sink in writers.sinks)
    cuts = sum(sink.metrics.watchdog_cuts for sink in writers.sinks)
    assert (0 if replacement is None else ROUNDS) == cuts


def test_without_a_version_a_lost_acknowledgement_applies_rows_twice(table: Table, proxy: TcpProxy) -> None:
    """The final state is right, but triggers and change feeds see the change again."""
    sink = sink_of(table, port=proxy.port, version=None)
    sink.open(0, 0)
    lose_next_commit(proxy, None)

    sink.process(row("k", 1))
    sink.close(None)

    assert {"k": (1, "")} == table.rows()
    assert [("k", 1), ("k", 1)] == table.applied()


def test_a_lost_answer_hangs_the_naive_design_for_ever(table: Table, proxy: TcpProxy) -> None:
    """The server has finished, so its statement_timeout does not help; the socket is fine, so TCP does not either."""
    limits = "-c statement_timeout=200"
    dsn = make_conninfo(table.dsn, port=proxy.port, options=limits, tcp_user_timeout=200, keepalives_idle=1)
    naive = NaiveSink(table, dsn=dsn, dwell_ms=0)
    naive.open(0, 0)
    is_lost = lose_next_commit(proxy, b"")

    task = threading.Thread(target=naive.process, args=(row("k", 1),))
    task.start()
    assert is_lost.wait(5)
    task.join(2)

    assert task.is_alive()
    kill_backends(table.dsn, "naive")
    task.join(5)
    naive.close(None)


def test_two_writers_of_the_same_keys_never_wait_for_each_other_in_a_circle(table: Table) -> None:
    """Both lock the rows of a batch in the order of their keys."""
    before = deadlocks(table.dsn)

    with writing(table) as writers:
        eventually(lambda: writers.written() > 20 * KEYS, 30, "many batches of both")

    assert before == deadlocks(table.dsn)
    assert 0 == sum(sink.metrics.retries for sink in writers.sinks)


def test_two_naive_writers_of_the_same_keys_end_in_a_deadlock(table: Table) -> None:
    """Rows in the order of arrival are locked in the order of arrival, and one of the two windows is lost."""
    both_hold_a_lock = threading.Barrier(2, timeout=10)

    def write(keys: str) -> str:
        with psycopg.connect(table.dsn) as connection:
            for number, key in enumerate(keys):
                if number:
                    both_hold_a_lock.wait()
                insert = f"insert into {table.name} values (%s, 1, '') on conflict (key) do update set version = 2"
                try:
                    connection.execute(insert.encode(), [key])
                except psycopg.errors.DeadlockDetected:
                    return "deadlock"
        return "written"

    with ThreadPoolExecutor() as tasks:
        outcomes = list(tasks.map(write, ("ab", "ba")))

    assert ["deadlock", "written"] == sorted(outcomes)


def test_a_server_that_stays_away_fails_the_epoch_at_the_deadline(table: Table) -> None:
    """Spark then repeats the epoch; nothing is dropped to keep the stream alive."""
    sink = sink_of(Table(make_conninfo(table.dsn, port=1), table.name), retry_deadline_s=0.5)
    sink.open(0, 0)
    sink.process(row("k", 1))

    with pytest.raises(RuntimeError, match="1 rows are not written") as failure:
        sink.close(None)

    assert isinstance(failure.value.__cause__, psycopg.OperationalError)
    assert sink.metrics.retries > 0


def deadlocks(dsn: str) -> int:
    """Return the deadlocks of the database since its creation."""
    return int(ask(dsn, "select deadlocks from pg_stat_database where datname = current_database()")[0][0])
