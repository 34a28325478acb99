import os
import pickle
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from pyspark import cloudpickle
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from spark_rtm.realtime.queries import wait_until
from spark_rtm.sinks import PostgresUpsertSink
from tests.helpers import eventually, kafka_rows, new_topic, produce
from tests.sinks.helpers import COLUMNS, Table, ask, do, kill_backends, row, sink_of, write

pytestmark = pytest.mark.services


def test_lone_row_is_visible_although_no_other_follows(table: Table) -> None:
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

    assert min(visible_ms) < 20
    sink.close(None)


def test_frequent_key_is_written_once_in_its_newest_version(table: Table) -> None:
    """A replayed older version changes nothing, and is counted as stale."""
    sink, found = sink_of(table, linger_ms=60_000), []

    for versions in ((1, 3, 2), (1,)):
        write(sink, *(row("k", version, f"value of {version}") for version in versions))
        counts = sink.metrics
        found.append((counts.rows, counts.deduped, counts.flushed, counts.stale_rows))

    assert [("k", 3)] == table.applied()
    assert {"k": (3, "value of 3")} == table.rows()
    assert [(3, 2, 1, 0), (1, 0, 1, 1)] == found


def test_server_rejects_the_same_key_twice_in_a_statement(table: Table) -> None:
    """Arrays that are not merged per key fail with `CardinalityViolation`, so the sink merges them."""
    insert = f"insert into {table.name} select k, 1, '' from unnest(array['k', 'k']) k on conflict (key) do update"

    with pytest.raises(psycopg.errors.CardinalityViolation):
        ask(table.dsn, f"{insert} set version = 2 returning 1")


@pytest.mark.spark
def test_count_of_a_query_is_its_version(spark: SparkSession, kafka: str, table: Table, tmp_path: Path) -> None:
    """A query that counts all records again writes older counts, which change nothing."""
    topic = new_topic(kafka, 1)
    keys = kafka_rows(spark, kafka, topic).groupBy(F.col("value").cast("string").alias("key"))
    counts = keys.agg(F.count("*").alias("version")).select("key", "version", F.lit("").alias("value"))
    produce(kafka, topic, [(0, b"k")] * 4)
    for run in "ab":
        writer = counts.writeStream.foreach(sink_of(table)).option("checkpointLocation", str(tmp_path / run))
        query = writer.outputMode("update").trigger(realTime="2 seconds").start()  # type: ignore[call-overload]
        wait_until(lambda: sum(each.numInputRows for each in query.recentProgress), 60, "four rows", [query])  # noqa: B023
        query.stop()

    assert {"k": (4, "")} == table.rows()
    assert sorted(set(table.applied())) == table.applied()


def test_row_that_does_not_fit_fails_the_epoch(table: Table) -> None:
    """A row that the table can never store is not retried, and no row of its batch counts as written."""
    sink = sink_of(table, linger_ms=60_000)

    with pytest.raises(RuntimeError, match="could not write 2 rows") as failure:
        write(sink, row("good", 1), row("bad", 1, "\0"))

    assert isinstance(failure.value.__cause__, psycopg.Error)
    assert {} == table.rows()
    assert 0 == sink.metrics.flushed
    assert 0 == sink.metrics.retries


def test_failed_flush_stops_the_task_at_its_next_row(table: Table) -> None:
    sink = sink_of(table)
    sink.open(0, 0)
    sink.process(row("bad", 1, "\0"))

    def is_rejected() -> bool:
        try:
            sink.process(row("next", 1))
        except RuntimeError:
            return True
        return False

    eventually(is_rejected, 60, "an error from process")
    sink.close(RuntimeError("of the query"))


def test_closing_does_not_hide_an_error_of_the_query(table: Table) -> None:
    """After an error of the query, `close` writes nothing and raises nothing; a second `close` does nothing."""
    sink = sink_of(table, linger_ms=60_000)
    sink.open(0, 0)
    sink.process(row("bad", 1, "\0"))

    sink.close(ValueError("of the query"))
    sink.close(None)

    assert {} == table.rows()


def test_full_buffer_blocks_the_query_and_loses_nothing(table: Table) -> None:
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
        eventually(lambda: ask(table.dsn, blocked), 60, "a flush that waits for the lock")
        taken = eventually(lambda: sink.metrics.rows > 10 and sink.metrics.rows, 60, "a full buffer")
    task.join(60)
    sink.close(None)

    # One batch in flight, a full buffer, and the row that waits for space.
    assert taken <= 10 + 10 + 1
    assert {str(n) for n in range(50)} == set(table.rows())
    assert sink.metrics.backpressure_seconds > 0


def test_row_that_was_stored_without_a_version_is_replaced(table: Table) -> None:
    do(table.dsn, f"alter table {table.name} alter version drop not null; insert into {table.name} values ('old')")

    write(sink_of(table), row("old", 1))

    assert {"old": (1, "")} == table.rows()


def test_names_with_special_characters_are_quoted(table: Table) -> None:
    name = f'{table.name}."; drop table {table.name}; --%s'
    quoted = '"' + name.replace('"', '""') + '"'
    do(table.dsn, f'create table {quoted} ("a,b" text, "c""d" int, "pct%" int, primary key ("a,b", "c""d"))')
    columns = {"a,b": "text", 'c"d': "int", "pct%": "int"}
    sink = PostgresUpsertSink(conninfo_to_dict(table.dsn), ("public", name), ("a,b", 'c"d'), columns, "pct%")

    write(sink, {"a,b": "x", 'c"d': 1, "pct%": 5}, {"a,b": "x", 'c"d': 2, "pct%": 6})

    assert [("x", 1, 5), ("x", 2, 6)] == ask(table.dsn, f'select * from {quoted} order by "c""d"')
    assert {} == table.rows()
    do(table.dsn, f"drop table {quoted}")


def test_table_of_keys_only_stores_each_key_once(table: Table) -> None:
    do(table.dsn, f"create table {table.name}_keys (key text primary key)")
    sink = PostgresUpsertSink(conninfo_to_dict(table.dsn), ("public", f"{table.name}_keys"), ("key",), {"key": "text"})
    for _ in range(2):
        write(sink, {"key": "k"})

    assert [("k",)] == ask(table.dsn, f"select * from {table.name}_keys")
    do(table.dsn, f"drop table {table.name}_keys")


TYPES: dict[str, tuple[str, Any, Any]] = {
    "null": ("bigint", None, None),
    "large-number": ("bigint", 2**62, 2**62),
    "number-beyond-bigint": ("numeric(38, 0)", 2**100, 2**100),
    "local-time-without-zone": (
        "timestamptz",
        datetime(2026, 1, 2, 3, 4, 5, 6).astimezone().replace(tzinfo=None),  # as Spark passes it
        datetime(2026, 1, 2, 3, 4, 5, 6).astimezone(UTC),
    ),
    "time-in-milliseconds": (
        "timestamp(3) with time zone",
        datetime(2026, 1, 2, 3, 4, 5, 6000).astimezone().replace(tzinfo=None),
        datetime(2026, 1, 2, 3, 4, 5, 6000).astimezone(UTC),
    ),
    "time-without-zone": ("timestamp", datetime(2026, 1, 2), datetime(2026, 1, 2)),  # noqa: DTZ001
    "struct": ("jsonb", Row(a=1, b=[Row(c=None)]), {"a": 1, "b": [{"c": None}]}),
    "list": ("jsonb", [1, 2], [1, 2]),
    "map": ("jsonb", {"a": Row(b=1)}, {"a": {"b": 1}}),
    "bytes": ("bytea", bytearray(b"\x00a"), b"\x00a"),
}


@pytest.mark.parametrize(("type_name", "given", "stored"), TYPES.values(), ids=TYPES)
def test_spark_values_keep_their_meaning(table: Table, type_name: str, given: Any, stored: Any) -> None:
    do(table.dsn, f"alter table {table.name} alter value type {type_name} using null")
    sink = sink_of(table, columns=COLUMNS | {"value": type_name})

    write(sink, Row(key="k", version=1, value=given), Row(key="other", version=1, value=None))

    assert {"k": (1, stored), "other": (1, None)} == table.rows()


def test_integers_of_any_size_share_one_prepared_statement(table: Table) -> None:
    """The type of an integer parameter does not depend on its values, so the server prepares one statement."""
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


def test_password_is_fetched_at_every_connect_and_never_shown(table: Table) -> None:
    parts = conninfo_to_dict(table.dsn)
    calls = []

    def fetch() -> dict[str, Any]:
        calls.append(1)
        return conninfo_to_dict(table.dsn)

    sink = PostgresUpsertSink(fetch, ("public", table.name), ("key",), {"key": "text", "version": "bigint"}, "version")
    sink.open(0, 0)
    sink.process(row("a", 1))
    sink.drain()
    assert 1 == kill_backends(table.dsn, f"public.{table.name} ")
    sink.process(row("b", 1))
    sink.close(None)

    assert 2 == len(calls)
    assert {"a", "b"} == set(table.rows())
    sink_with_mapping = sink_of(table)
    assert str(parts["password"]) not in repr(sink) + repr(sink_with_mapping) + sink.metrics.line()


def test_pickled_sink_has_no_threads_and_no_fetched_secret(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SINK_DSN", table.dsn)
    sink = PostgresUpsertSink(connect_from_environment, ("public", table.name), ("key",), COLUMNS, "version")
    sink.open(0, 0)
    sink.process(row("k", 1))
    sink.drain()

    pickled = cloudpickle.dumps(sink)  # type: ignore[no-untyped-call]
    sink.close(None)
    write(pickle.loads(pickled), row("copy", 1))

    assert str(conninfo_to_dict(table.dsn)["password"]).encode() not in pickled
    assert {"k", "copy"} == set(table.rows())
    load = [sys.executable, "-I", "-S", "-c", "import pickle, sys; pickle.load(sys.stdin.buffer)"]
    elsewhere = subprocess.run(load, input=pickled, cwd="/", capture_output=True, check=False)
    assert b"ModuleNotFoundError: No module named 'spark_rtm'" in elsewhere.stderr


def connect_from_environment() -> dict[str, Any]:
    return conninfo_to_dict(os.environ["SINK_DSN"])


def test_calls_in_a_wrong_order_are_errors(table: Table) -> None:
    """An open sink cannot be opened again, and a closed one takes no row. An epoch without rows needs no server."""
    idle = sink_of(Table("host=127.0.0.1 port=1", "nowhere"))
    assert idle.open(0, 0) is True
    idle.close(None)
    sink = sink_of(table, linger_ms=60_000)
    with pytest.raises(RuntimeError, match=rf"'public\.{table.name}' is not open; call open\(\) before process\(\)"):
        sink.drain()
    sink.open(0, 0)
    sink.process(row("k", 1))

    with pytest.raises(RuntimeError, match=r"is already open, .* call close\(\) before open\(\)"):
        sink.open(0, 1)
    sink.close(None)
    sink.open(0, 1)
    sink.close(None)

    assert {"k": (1, "")} == table.rows()
