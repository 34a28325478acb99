"""If servers restart, replies are lost, or writers collide, no row is lost, applied twice or reverted."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from spark_rtm.services import LocalPostgres
from spark_rtm.services.tcp_proxy import TcpProxy
from spark_rtm.sinks import PostgresUpsertSink
from tests.helpers import eventually
from tests.sinks.helpers import Table, kill_backends, row, sink_of

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]

KEYS = 200
ROUNDS = 2


@dataclass
class Writers:
    sinks: list[PostgresUpsertSink]
    stop: Event = field(default_factory=Event)

    def written(self) -> int:
        return sum(sink.metrics.flushed for sink in self.sinks)

    def wait_for_more(self) -> None:
        before = self.written()
        eventually(lambda: self.written() > before + KEYS, 60, "more rows")

    def write(self, number: int) -> dict[str, int]:
        """Write rows until `stop` is set, and return the newest version of each key."""
        newest, version = dict[str, int](), number
        while not self.stop.wait(0.002):
            for _ in range(10):
                version += len(self.sinks)
                # The tasks iterate over all keys in opposite directions.
                key = str((version if number else -version) % KEYS)
                self.sinks[number].process(row(key, version))
                newest[key] = version
            # No later version hides the loss of this row.
            once = f"{number}/{version}"
            self.sinks[number].process(row(once, version))
            newest[once] = version
        self.sinks[number].close(None)
        return newest


@contextmanager
def writing(table: Table, *, port: int | None = None) -> Iterator[Writers]:
    """
    Write in two tasks. Afterwards, no row is missing, and no version was applied twice or after a newer one.

    The tasks write the same keys in opposite orders, so a deadlock would cause a further retry.
    """
    writers = Writers([sink_of(table, port=port, max_pending=200, flush_timeout_seconds=2) for _ in range(2)])
    for partition, sink in enumerate(writers.sinks):
        sink.open(partition, 0)
    with ThreadPoolExecutor() as pool:
        written = [pool.submit(writers.write, number) for number in range(2)]
        try:
            writers.wait_for_more()
            yield writers
        finally:
            writers.stop.set()
    mine, other = (each.result() for each in written)
    assert {key: (max(mine.get(key, 0), other.get(key, 0)), "") for key in mine | other} == table.rows()
    last: dict[str, int] = {}
    for key, version in table.applied():
        assert version > last.get(key, -1), f"{key} went from version {last[key]} to {version}"
        last[key] = version


def kill_both(server: LocalPostgres, table: Table) -> None:
    eventually(lambda: kill_backends(server.dsn, f"public.{table.name} "), 60, "a connection to kill")


def restart(server: LocalPostgres, _table: Table) -> None:
    server.stop()
    server.start()


def crash(server: LocalPostgres, _table: Table) -> None:
    server.kill()
    server.start()


@pytest.mark.proves("chaos rounds", ROUNDS)
@pytest.mark.parametrize("fault", [kill_both, restart, crash])
def test_repeated_loss_of_the_server_loses_no_row(
    server: LocalPostgres, table: Table, fault: Callable[[LocalPostgres, Table], None]
) -> None:
    with writing(table) as writers:
        for _ in range(ROUNDS):
            fault(server, table)
            writers.wait_for_more()

    assert ROUNDS <= sum(sink.metrics.reconnects for sink in writers.sinks)


def lose_next_commit(proxy: TcpProxy, replacement: bytes | None) -> Event:
    """Replace the next answer to an insert; the returned event is set once that has happened."""
    is_lost = Event()

    def answer(chunk: bytes) -> bytes | None:
        if b"INSERT 0" in chunk and not is_lost.is_set():
            is_lost.set()
            return replacement
        return chunk

    proxy.answer = answer
    return is_lost


@pytest.mark.proves("chaos rounds", ROUNDS)
@pytest.mark.parametrize("replacement", [None, b""], ids=["connection-cut", "no-answer"])
def test_lost_acknowledgements_lose_and_repeat_no_row(table: Table, proxy: TcpProxy, replacement: bytes | None) -> None:
    with writing(table, port=proxy.port) as writers:
        for _ in range(ROUNDS):
            is_lost = lose_next_commit(proxy, replacement)
            eventually(is_lost.is_set, 60, "an acknowledgement to lose")
            writers.wait_for_more()

    assert ROUNDS == sum(sink.metrics.retries for sink in writers.sinks)
    cuts = sum(sink.metrics.watchdog_cuts for sink in writers.sinks)
    assert (0 if replacement is None else ROUNDS) == cuts


def test_unreachable_server_fails_the_epoch_at_the_deadline(table: Table) -> None:
    sink = sink_of(Table(make_conninfo(table.dsn, port=1), table.name), retry_deadline_seconds=0.5)
    sink.open(0, 0)
    sink.process(row("k", 1))

    with pytest.raises(RuntimeError, match="could not write 1 rows") as failure:
        sink.close(None)

    assert isinstance(failure.value.__cause__, psycopg.OperationalError)
    assert sink.metrics.retries > 0
