import gc
import threading
import traceback
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from spark_rtm.services.tcp_proxy import TcpProxy
from spark_rtm.sinks import PostgresUpsertSink
from tests.helpers import eventually
from tests.sinks.helpers import COLUMNS, Table, ask, do, row, sink_of, write

pytestmark = pytest.mark.services

SETTINGS = ("statement_timeout", "lock_timeout", "search_path")
OPTIONS = {
    "no-options": (None, ("30s", "5s", '"$user", public')),
    "other-setting": ("-c search_path=public", ("30s", "5s", "public")),
    "other-limits": ("-c statement_timeout=0 -c lock_timeout=0", ("30s", "5s", '"$user", public')),
    "empty-for-a-pooler": ("", ("0", "0", '"$user", public')),
}


@pytest.mark.parametrize("is_dsn", [False, True], ids=["arguments", "connection-string"])
@pytest.mark.parametrize(("options", "expected"), OPTIONS.values(), ids=OPTIONS)
def test_options_keep_time_limits(table: Table, options: str | None, expected: tuple[str, ...], is_dsn: bool) -> None:
    """The sink adds its time limits to `options`, unless an empty string declares that the role has its own limits."""
    for name in SETTINGS:
        do(table.dsn, f"alter table {table.name} add \"{name}\" text default current_setting('{name}')")
    given: dict[str, Any] = dict(conninfo_to_dict(table.dsn)) | ({} if options is None else {"options": options})
    connect = {"conninfo": make_conninfo(**given)} if is_dsn else given
    sink = PostgresUpsertSink(connect, ("public", table.name), ("key",), COLUMNS, "version")

    write(sink, row("k", 1))

    names = ", ".join(f'"{name}"' for name in SETTINGS)
    assert [expected] == ask(table.dsn, f"select {names} from {table.name}")


def test_malformed_connection_string_is_not_quoted() -> None:
    connect = {"conninfo": "host=127.0.0.1 password=open sesame"}

    with pytest.raises(RuntimeError) as failure:
        write(PostgresUpsertSink(connect, ("public", "t"), ("key",), COLUMNS, "version"), row("k", 1))

    text = "".join(traceback.format_exception(failure.value))
    assert "its connection string is malformed" in text
    assert "sesame" not in text


def test_wrong_password_is_tried_twice_only(table: Table) -> None:
    right = conninfo_to_dict(table.dsn)
    passwords = iter(["expired", right["password"], "wrong", "wrong", right["password"]])

    def connect() -> dict[str, Any]:
        return right | {"password": next(passwords)}

    sink = PostgresUpsertSink(connect, ("public", table.name), ("key",), COLUMNS, "version")
    write(sink, row("k", 1))
    with pytest.raises(RuntimeError) as failure:
        write(sink, row("k", 2))

    assert [right["password"]] == list(passwords)
    assert "password authentication failed" in str(failure.value.__cause__)
    assert {"k": (1, "")} == table.rows()


@pytest.mark.parametrize("is_failed", [False, True], ids=["healthy", "failed"])
def test_sinks_that_nobody_closes_leave_nothing(
    table: Table, is_failed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    before = set(threading.enumerate())
    sinks = [sink_of(table) for _ in range(5)]
    for number, sink in enumerate(sinks):
        sink.open(number, 0)
        sink.process(row(str(number), 1))
        sink.drain()
        if is_failed:
            sink.process(row("bad", 1, "\0"))
    connections = f"select 1 from pg_stat_activity where application_name like 'public.{table.name} %'"

    del sink, sinks
    gc.collect()

    eventually(lambda: not set(threading.enumerate()) - before, 60, "the end of the threads")
    eventually(lambda: not ask(table.dsn, connections), 60, "the end of the connections")
    assert {str(n) for n in range(5)} == set(table.rows())
    assert is_failed or 5 == caplog.text.count("the sink was not closed")


@pytest.mark.parametrize(("version", "newest"), [("version", 2), (None, 1)], ids=["with-version", "without-version"])
def test_delayed_write_replaces_a_newer_row_only_without_version(
    table: Table, proxy: TcpProxy, version: str | None, newest: int
) -> None:
    """A delayed write arrives after its own retry and after the next row."""
    is_held, may_arrive = threading.Event(), threading.Event()

    def hold_first_insert(chunk: bytes) -> bytes:
        if b"insert into" in chunk and not is_held.is_set():
            is_held.set()
            assert may_arrive.wait(60)
        return chunk

    proxy.request = hold_first_insert
    sink = sink_of(table, port=proxy.port, version=version, flush_timeout_seconds=0.5)
    sink.open(0, 0)
    for number in (1, 2):
        sink.process(row("k", number))
        sink.drain()
    acknowledged = table.rows()
    application = f"public.{table.name} partition 0 epoch 0"
    connections = f"select count(*) from pg_stat_activity where application_name = '{application}'"
    may_arrive.set()
    eventually(lambda: ask(table.dsn, connections) == [(1,)], 60, "the end of the delayed connection")
    sink.close(None)

    assert {"k": (2, "")} == acknowledged
    assert {"k": (newest, "")} == table.rows()
