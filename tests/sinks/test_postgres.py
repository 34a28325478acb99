"""What reaches the table and when: one row alone, bursts, repeats, odd names and rows that cannot be stored."""

import os
import pickle
import signal
import threading
import time
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from pyspark import cloudpickle
from pyspark.sql import Row

from examples.sinks import PostgresUpsertSink
from tests.helpers import eventually
from tests.sinks.helpers import Table, ask, do, kill_backends, row, sink_of
from tests.sinks.naive import NaiveSink

pytestmark = pytest.mark.services


def test_a_lone_row_becomes_visible_although_no_other_follows(table: Table) -> None:
    """Silence after a row is no reason to wait: it is there at once, and the epoch is still open."""
    sink = sink_of(table)
    sink.open(0, 0)
    sink.process(row("warm", 1))
    sink.drain()

    visible_ms = []
    with psycopg.connect(table.dsn, autocommit=True) as reader:
        query = f"select 1 from {table.name} where key = %s".encode()
        for n in range(20):
            started = time.monotonic()
            sink.process(row(str(n), 1))
            while reader.execute(query, [str(n)]).fetchone() is None:
                assert time.monotonic() < started + 5, f"row {n} is invisible after 5 seconds"
            visible_ms.append((time.monotonic() - started) * 1000)

    assert sorted(visible_ms)[10] < 20
    sink.close(None)


def test_a_lone_row_of_the_naive_design_stays_invisible_until_the_next_one(table: Table) -> None:
    """Its timer is looked at by the next row only, however long the dwell time has passed."""
    naive = NaiveSink(table, dwell_ms=50)
    naive.open(0, 0)
    naive.process(row("lone", 1))
    dwelt = time.monotonic() + 0.5

    eventually(lambda: time.monotonic() > dwelt, 5, "ten times the dwell time")
    seen_alone = table.rows()
    naive.process(row("next", 1))

    assert {} == seen_alone
    assert {"lone": (1, ""), "next": (1, "")} == table.rows()
    naive.close(None)


def test_a_burst_is_visible_to_its_last_row_before_the_next_burst(table: Table) -> None:
    """Whatever is left over from full batches follows by age."""
    sink = sink_of(table, max_rows=2)
    sink.open(0, 0)

    for n in range(7):
        sink.process(row(str(n), 1))

    eventually(lambda: len(table.rows()) == 7, 5, "all seven rows")
    sink.close(None)


def test_a_key_that_comes_often_is_written_once_with_its_newest_version(table: Table) -> None:
    """One row version in the database instead of hundreds; an older row that comes later changes nothing."""
    sink = sink_of(table, linger_ms=1000)
    sink.open(0, 0)

    for version in (1, 3, 2):
        sink.process(row("k", version, f"value of {version}"))
    sink.close(None)

    assert [("k", 3)] == table.applied()
    assert {"k": (3, "value of 3")} == table.rows()
    assert (3, 2, 1) == (sink.metrics.rows, sink.metrics.deduped, sink.metrics.flushed)


def test_one_key_twice_in_a_statement_is_refused_by_the_server(table: Table) -> None:
    """So arrays without a merge per key would fail; this is why the sink merges."""
    insert = f"insert into {table.name} select k, 1, '' from unnest(array['k', 'k']) k on conflict (key) do update"

    with pytest.raises(psycopg.errors.CardinalityViolation):
        ask(table.dsn, f"{insert} set version = 2 returning 1")


def test_a_replayed_older_version_never_wins(table: Table) -> None:
    """After a restart Spark sends again what the last epoch had; the table does not go back, and it is counted."""
    for epoch, versions in enumerate(([1, 2, 3], [1])):
        sink = sink_of(table)
        sink.open(0, epoch)
        for version in versions:
            sink.process(row("k", version))
            sink.drain()
        sink.close(None)

    assert {"k": (3, "")} == table.rows()
    assert [("k", 1), ("k", 2), ("k", 3)] == table.applied()
    assert 1 == sink.metrics.stale_rows


def test_a_replayed_older_version_wins_in_the_naive_design(table: Table) -> None:
    """The last arrival stays, and after a restart the last arrival is old."""
    for epoch, versions in enumerate(([1, 2, 3], [1])):
        naive = NaiveSink(table)
        naive.open(0, epoch)
        for version in versions:
            naive.process(row("k", version))
        naive.close(None)

    assert {"k": (1, "")} == table.rows()


def test_a_poison_row_fails_the_epoch_and_no_row_is_claimed_as_written(table: Table) -> None:
    """A row that can never be stored is not tried for ever, and its neighbours are not lost in silence."""
    sink = sink_of(table)
    sink.open(0, 0)
    sink.process(row("good", 1))
    sink.process(row("bad", 1, "\0"))

    with pytest.raises(RuntimeError, match="2 rows are not written") as failure:
        sink.close(None)

    assert isinstance(failure.value.__cause__, psycopg.Error)
    assert {} == table.rows()
    assert 0 == sink.metrics.flushed
    assert 0 == sink.metrics.retries


def test_a_failed_flush_stops_the_task_at_its_next_row(table: Table) -> None:
    """The query hears of it while it runs, not only when its epoch ends."""
    sink = sink_of(table)
    sink.open(0, 0)
    sink.process(row("bad", 1, "\0"))

    def is_refused() -> bool:
        try:
            sink.process(row("next", 1))
        except RuntimeError:
            return True
        return False

    eventually(is_refused, 5, "an error from process")
    sink.close(RuntimeError("of the query"))


def test_an_error_of_the_query_is_not_hidden_by_closing(table: Table) -> None:
    """Nothing is written and nothing raised, even if what waits could not be written; closing again is harmless."""
    sink = sink_of(table, linger_ms=60_000)
    sink.open(0, 0)
    sink.process(row("bad", 1, "\0"))

    sink.close(ValueError("of the query"))
    sink.close(None)

    assert {} == table.rows()


def test_the_naive_design_raises_another_error_while_it_closes(table: Table) -> None:
    """Spark then reports the second error, and the first is lost."""
    naive = NaiveSink(table, dwell_ms=60_000)
    naive.open(0, 0)
    naive.process(row("bad", 2**63))

    with pytest.raises(psycopg.errors.NumericValueOutOfRange):
        naive.close(ValueError("of the query"))


def test_an_epoch_without_rows_needs_no_server() -> None:
    """Spark opens a sink for empty partitions too; those must not cost connections."""
    sink = sink_of(Table("host=127.0.0.1 port=1", "nowhere"))

    assert sink.open(0, 0) is True
    sink.close(None)


def test_a_full_buffer_holds_the_query_back_and_everything_arrives(table: Table) -> None:
    """While the database is busy, `process` blocks instead of filling the memory."""
    sink = sink_of(table, max_pending=10, linger_ms=0)
    sink.open(0, 0)

    def process_all() -> None:
        for n in range(50):
            sink.process(row(str(n), 1))

    task = threading.Thread(target=process_all)
    blocked = f"select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%{table.name}%'"

    with psycopg.connect(table.dsn) as blocker:
        blocker.execute(f"lock table {table.name}".encode())
        task.start()
        eventually(lambda: ask(table.dsn, blocked), 5, "a flush that waits for the lock")
        taken = eventually(lambda: sink.metrics.rows > 10 and sink.metrics.rows, 5, "a full buffer")
    task.join(10)
    sink.close(None)

    # One batch on its way, a full buffer, and the row that waits for room.
    assert taken <= 10 + 10 + 1
    assert {str(n) for n in range(50)} == set(table.rows())
    assert sink.metrics.backpressure_s > 0


def test_a_row_without_key_or_version_is_refused_by_name(table: Table) -> None:
    """The guard would drop it in silence, or the table would refuse the whole batch."""
    sink = sink_of(table)
    sink.open(0, 0)

    with pytest.raises(ValueError, match=r"row \('k',\) has no value in \('version',\)"):
        sink.process({"key": "k", "version": None, "value": ""})
    with pytest.raises(ValueError, match=r"row \(None,\) has no value in \('key',\)"):
        sink.process({"key": None, "version": 1, "value": ""})
    sink.close(None)


def test_odd_names_and_composite_keys_are_names_and_nothing_else(table: Table) -> None:
    """Quotes, percent signs, dots and commas in names are quoted, also those of somebody who tries to inject."""
    name = f'{table.name}."; drop table {table.name}; --%s'
    quoted = '"' + name.replace('"', '""') + '"'
    do(table.dsn, f'create table {quoted} ("a,b" text, "c""d" int, "pct%" int, primary key ("a,b", "c""d"))')
    columns = {"a,b": "text", 'c"d': "int", "pct%": "int"}
    sink = PostgresUpsertSink(conninfo_to_dict(table.dsn), ("public", name), ("a,b", 'c"d'), columns, "pct%")
    sink.open(0, 0)

    sink.process({"a,b": "x", 'c"d': 1, "pct%": 5})
    sink.process({"a,b": "x", 'c"d': 2, "pct%": 6})
    sink.close(None)

    assert [("x", 1, 5), ("x", 2, 6)] == ask(table.dsn, f'select * from {quoted} order by "c""d"')
    assert {} == table.rows()
    do(table.dsn, f"drop table {quoted}")


def test_a_table_of_keys_only_takes_each_key_once(table: Table) -> None:
    """There is nothing to update, so the statement does nothing on a conflict."""
    do(table.dsn, f"create table {table.name}_keys (key text primary key)")
    sink = PostgresUpsertSink(conninfo_to_dict(table.dsn), ("public", f"{table.name}_keys"), ("key",), {"key": "text"})
    for epoch in (0, 1):
        sink.open(0, epoch)
        sink.process({"key": "k"})
        sink.close(None)

    assert [("k",)] == ask(table.dsn, f"select * from {table.name}_keys")
    do(table.dsn, f"drop table {table.name}_keys")


TYPES: dict[str, tuple[str, Any, Any]] = {
    "nothing": ("bigint", None, None),
    "large-number": ("bigint", 2**62, 2**62),
    "number-beyond-bigint": ("numeric(38, 0)", 2**100, 2**100),
    "local-time-without-zone": (
        "timestamptz",
        datetime(2026, 1, 2, 3, 4, 5, 6).astimezone().replace(tzinfo=None),  # as Spark gives it
        datetime(2026, 1, 2, 3, 4, 5, 6).astimezone(UTC),
    ),
    "time-of-milliseconds": (
        "timestamp(3) with time zone",
        datetime(2026, 1, 2, 3, 4, 5, 6000).astimezone().replace(tzinfo=None),
        datetime(2026, 1, 2, 3, 4, 5, 6000).astimezone(UTC),
    ),
    "time-of-no-zone": ("timestamp", datetime(2026, 1, 2), datetime(2026, 1, 2)),  # noqa: DTZ001
    "struct": ("jsonb", Row(a=1, b=[Row(c=None)]), {"a": 1, "b": [{"c": None}]}),
    "list": ("jsonb", [1, 2], [1, 2]),
    "map": ("jsonb", {"a": Row(b=1)}, {"a": {"b": 1}}),
    "bytes": ("bytea", bytearray(b"\x00a"), b"\x00a"),
}


@pytest.mark.parametrize(("type_name", "given", "stored"), TYPES.values(), ids=TYPES)
def test_values_of_spark_are_stored_as_what_they_mean(table: Table, type_name: str, given: Any, stored: Any) -> None:
    """Also times, which Spark hands over in the worker's zone, and nested values."""
    do(table.dsn, f"alter table {table.name} alter value type {type_name} using null")
    sink = sink_of(table, columns={"key": "text", "version": "bigint", "value": type_name})
    sink.open(0, 0)

    sink.process(Row(key="k", version=1, value=given))
    sink.process(Row(key="other", version=1, value=None))
    sink.close(None)

    assert {"k": (1, stored), "other": (1, None)} == table.rows()


def test_numbers_of_any_size_share_one_prepared_statement(table: Table) -> None:
    """The server plans it once; a parameter whose type followed its values would be planned for each of them."""
    prepared = "select count(*) from pg_prepared_statements"
    do(table.dsn, f"create function {table.name}_prepared() returns bigint language sql as '{prepared}'")
    do(table.dsn, f"alter table {table.name} add prepared bigint default {table.name}_prepared()")
    sink = sink_of(table)
    sink.open(0, 0)

    for n in range(30):
        sink.process(row(str(n), (1, 2**20, 2**40)[n % 3]))
        sink.drain()
    sink.close(None)

    assert [(0,), (1,)] == ask(table.dsn, f"select distinct prepared from {table.name} order by 1")
    do(table.dsn, f"alter table {table.name} drop prepared; drop function {table.name}_prepared")


def test_rows_of_an_interrupted_drain_are_written_by_closing(table: Table) -> None:
    """Ctrl-C ends the waiting and nothing else."""
    sink = sink_of(table, linger_ms=60_000)
    sink.open(0, 0)
    sink.process(row("k", 1))
    blocked = f"select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%{table.name}%'"

    def interrupt() -> None:
        eventually(lambda: ask(table.dsn, blocked), 5, "a flush that waits for the lock")
        os.kill(os.getpid(), signal.SIGINT)

    with psycopg.connect(table.dsn) as blocker:
        blocker.execute(f"lock table {table.name}".encode())
        person = threading.Thread(target=interrupt)
        person.start()
        with pytest.raises(KeyboardInterrupt):
            sink.drain()
        person.join(10)
    sink.close(None)

    assert {"k": (1, "")} == table.rows()


def test_an_open_sink_travels_without_its_threads(table: Table) -> None:
    """Spark serialises the sink on the driver; the copy opens by itself."""
    sink = sink_of(table)
    sink.open(0, 0)

    copy = pickle.loads(pickle.dumps(sink))
    copy.open(1, 0)
    copy.process(row("copy", 1))
    copy.close(None)
    sink.close(None)

    assert {"copy": (1, "")} == table.rows()
    assert copy == sink


def test_a_password_is_fetched_at_every_connect_and_never_shown(table: Table) -> None:
    """A token that expires is asked for anew; neither the serialised sink nor its text carries it."""
    parts = conninfo_to_dict(table.dsn)
    asked = []

    def fetch() -> dict[str, Any]:
        asked.append(1)
        return conninfo_to_dict(table.dsn)

    sink = PostgresUpsertSink(fetch, ("public", table.name), ("key",), {"key": "text", "version": "bigint"}, "version")
    sink.open(0, 0)
    sink.process(row("a", 1))
    sink.drain()
    assert 1 == kill_backends(table.dsn, f"public.{table.name} ")
    sink.process(row("b", 1))
    sink.close(None)

    assert 2 == len(asked)
    assert {"a", "b"} == set(table.rows())
    with_dict = sink_of(table)
    assert str(parts["password"]) not in repr(sink) + repr(with_dict) + sink.metrics.line()


def test_a_serialised_sink_contains_no_secret_that_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function travels, and reads the secret where the task runs."""
    monkeypatch.setenv("SINK_PASSWORD", "s3cret")
    sink = PostgresUpsertSink(password_from_environment, ("public", "t"), ("key",), {"key": "text"})

    assert b"s3cret" not in cloudpickle.dumps(sink)  # type: ignore[no-untyped-call]
    assert {"password": "s3cret"} == sink.connect()  # type: ignore[operator]


def password_from_environment() -> dict[str, str]:
    """Return the password as a task would find it."""
    return {"password": os.environ["SINK_PASSWORD"]}


def test_rows_for_a_sink_that_is_not_open_are_refused() -> None:
    """They would have no way into the table."""
    sink = sink_of(Table("host=127.0.0.1", "t"))

    with pytest.raises(RuntimeError, match=r"sink of 'public\.t' is not open"):
        sink.drain()
