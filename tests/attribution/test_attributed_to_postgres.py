"""The results table contains the newest version of every result of its topic, even after a restart."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from psycopg.conninfo import conninfo_to_dict
from pyspark.sql import SparkSession

from examples.attribution.attributed_table import (
    COLUMNS,
    create_tables,
    results_of,
    results_sink,
    results_table,
    stored_results,
)
from examples.attribution.attributed_to_postgres import ResultsConsumer, attributed_to_postgres
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC
from spark_rtm.kafka.topics import ensure_topics
from tests.helpers import add_partition, eventually, kafka_rows, produce

pytestmark = pytest.mark.services

PARTITIONS = 2


def result(result_id: str, version: int, code: str = "accepted") -> dict[str, Any]:
    return {"result_id": result_id, "version": version, "kind": "request", "code": code, "clock_skew": False}


def publish(kafka: str, settings: Settings, *results: dict[str, Any]) -> None:
    """Append `results` to the topic; the length of the result id decides on the partition."""
    records = [(len(r["result_id"]) % PARTITIONS, json.dumps(r).encode()) for r in results]
    produce(kafka, settings.topic(ATTRIBUTED_TOPIC), records)


def copied(kafka: str, rtm_postgres: str, settings: Settings) -> ResultsConsumer:
    """Copy the topic to its end, and return the consumer."""
    with attributed_to_postgres(kafka, rtm_postgres, settings) as consumer:
        consumer.finish()
    return consumer


def test_restart_reads_only_new_records_unless_the_tables_are_lost(
    kafka: str, rtm_postgres: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """
    Versions can have any order. If the tables are lost, so are the offsets in them, and all records are read again.

    Records that are not results are skipped and counted.
    """
    wrong = [{"result_id": "a"}, result("a", 2, "\0"), result("a", 2, "\ud800"), {**result("a", 2), "deadline": 2**63}]
    garbage = [None, b"", b"{bad", b"[]", b"\xff", b"[" * 100_000, *(json.dumps(row).encode() for row in wrong)]
    produce(kafka, settings.topic(ATTRIBUTED_TOPIC), [(1, value) for value in garbage])
    versions = [("a", 2), ("bb", 6), ("a", 6), ("a", 4), ("bb", 2), ("a", 6)]
    publish(kafka, settings, *(result(*version) for version in versions))
    runs = [copied(kafka, rtm_postgres, settings)]
    assert {"a": result("a", 6), "bb": result("bb", 6)} == stored_results(rtm_postgres, settings)

    publish(kafka, settings, result("a", 8))
    runs.append(copied(kafka, rtm_postgres, settings))
    with psycopg.connect(rtm_postgres) as connection:
        connection.execute(f"drop table {results_table(settings)}, {results_table(settings)}_offsets".encode())
    runs.append(copied(kafka, rtm_postgres, settings))

    assert [(6, len(garbage)), (1, 0), (7, len(garbage))] == [(run.metrics.rows, run.unreadable) for run in runs]
    assert {"a": result("a", 8), "bb": result("bb", 6)} == stored_results(rtm_postgres, settings)
    assert f"skipped record {settings.topic(ATTRIBUTED_TOPIC)}:1:0, which is not a result" in caplog.text


def test_deleted_records_end_the_consumer_and_its_start(kafka: str, rtm_postgres: str, settings: Settings) -> None:
    """If retention deletes a record before it is copied, the consumer fails until the stored offset is deleted."""
    publish(kafka, settings, result("a", 2))
    copied(kafka, rtm_postgres, settings)
    publish(kafka, settings, result("a", 4), result("a", 6), result("a", 8))
    running = ResultsConsumer(kafka, rtm_postgres, settings)
    admin, before = AdminClient({"bootstrap.servers": kafka}), TopicPartition(settings.topic(ATTRIBUTED_TOPIC), 1, 3)
    admin.delete_records([before])[before].result(30)

    message = r"offsets from 3 to 4, but the stored offset of the next record is 1, .* retention\.ms"
    with pytest.raises(RuntimeError, match=message):
        running.run()
    with pytest.raises(RuntimeError, match=message):
        ResultsConsumer(kafka, rtm_postgres, settings)

    with psycopg.connect(rtm_postgres) as connection:
        connection.execute(f"delete from {results_table(settings)}_offsets where partition = 1".encode())
    copied(kafka, rtm_postgres, settings)
    assert {"a": result("a", 8)} == stored_results(rtm_postgres, settings)


def test_topic_that_is_created_again_ends_the_consumer(kafka: str, rtm_postgres: str, settings: Settings) -> None:
    """Neither a running nor a restarted consumer continues from the old offset in a recreated, longer topic."""
    admin, topic = AdminClient({"bootstrap.servers": kafka}), settings.topic(ATTRIBUTED_TOPIC)
    publish(kafka, settings, result("a", 2))
    copied(kafka, rtm_postgres, settings)
    with attributed_to_postgres(kafka, rtm_postgres, settings) as consumer:
        admin.delete_topics([topic])[topic].result(30)
        eventually(lambda: topic not in admin.list_topics(timeout=10).topics, 60, "the deletion")
        ensure_topics(kafka, [topic], PARTITIONS)
        publish(kafka, settings, result("a", 4), result("a", 6))
        eventually(consumer.future.done, 60, "the end of the consumer")
        with pytest.raises((RuntimeError, KafkaException)):
            consumer.raise_if_failed()

    with pytest.raises(RuntimeError, match=r"was deleted and created again: .* delete the stored offsets"):
        ResultsConsumer(kafka, rtm_postgres, settings)


def test_result_is_stored_without_further_records(kafka: str, rtm_postgres: str, settings: Settings) -> None:
    """A row does not wait for the next record, and a new partition is read from its first record."""
    topic = settings.topic(ATTRIBUTED_TOPIC)
    with attributed_to_postgres(kafka, rtm_postgres, settings) as first:
        publish(kafka, settings, result("a", 2, "pending"))
        eventually(lambda: stored_results(rtm_postgres, settings) == {"a": result("a", 2, "pending")}, 60, "version 2")
        publish(kafka, settings, result("a", 4))
        eventually(lambda: stored_results(rtm_postgres, settings) == {"a": result("a", 4)}, 60, "version 4")
        add_partition(kafka, topic, 3, json.dumps(result("new", 2)).encode())
        eventually(lambda: len(stored_results(rtm_postgres, settings)) == 2 or first.future.done(), 60, "the result")
        first.finish()

    produce(kafka, topic, [(2, json.dumps(result("new", 4)).encode())])
    second = copied(kafka, rtm_postgres, settings)

    assert [3, 1] == [first.metrics.rows, second.metrics.rows]
    assert {"a": result("a", 4), "new": result("new", 4)} == stored_results(rtm_postgres, settings)


def test_micro_batch_query_fills_the_same_table(
    spark: SparkSession, kafka: str, rtm_postgres: str, settings: Settings, tmp_path: Path
) -> None:
    """A micro-batch query can use the same sink: every column has the type that the sink expects."""
    full = dict.fromkeys(COLUMNS, "text") | {name: 7 for name, type_name in COLUMNS.items() if type_name == "bigint"}
    publish(kafka, settings, result("a", 4), result("a", 2), full | {"result_id": "bb", "clock_skew": True})

    create_tables(rtm_postgres, settings)

    rows = results_of(kafka_rows(spark, kafka, settings.topic(ATTRIBUTED_TOPIC)))
    writer = rows.writeStream.foreach(results_sink(dict(conninfo_to_dict(rtm_postgres)), settings)).outputMode("update")
    writer.option("checkpointLocation", str(tmp_path)).start().processAllAvailable()

    expected = {"a": result("a", 4), "bb": full | {"result_id": "bb", "clock_skew": True}}
    assert expected == stored_results(rtm_postgres, settings)


@pytest.mark.parametrize(("index", "hot"), [("", 190), ("create index on {0} (version)", 0)])
def test_updates_are_hot_unless_they_touch_an_index(
    rtm_postgres: str, settings: Settings, index: str, hot: int
) -> None:
    create_tables(rtm_postgres, settings)
    table, sink = results_table(settings), results_sink(dict(conninfo_to_dict(rtm_postgres)), settings)
    with psycopg.connect(rtm_postgres, autocommit=True) as connection:
        if index:
            connection.execute(index.format(table).encode())
        sink.open(0, 0)
        for version in range(20):
            for key in range(10):
                sink.process(dict.fromkeys(COLUMNS) | result(str(key), version))
            sink.drain()
        sink.close(None)
        # PostgreSQL updates the statistics of a connection before it ends.
        query = f"select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = '{table}'"
        eventually(lambda: connection.execute(query.encode()).fetchone() == (190, hot), 60, f"190 updates, {hot} HOT")
