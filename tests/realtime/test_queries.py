"""Draining: a stop after which a restart repeats nothing."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from scripts.pack import files
from spark_rtm.inspect.inspection import inspect
from spark_rtm.inspect.sources import Connection
from spark_rtm.realtime.queries import drain, has_tasks, stop_completely, wait_until
from spark_rtm.realtime.slots import slots_free
from tests.conftest import SLOTS
from tests.helpers import end_offset, eventually, kafka_rows, new_topic, produce, start_to_kafka, texts_of
from tests.pages.examples import definition_of

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(200)]

DEBUGGING = files.ROOT / "references/debugging.md"


def copy(
    spark: SparkSession,
    kafka: str,
    source: str,
    target: str,
    checkpoint: Path,
    interval: str = "1 second",
    **options: str,
) -> StreamingQuery:
    rows = kafka_rows(spark, kafka, source, **options).select("value")
    return start_to_kafka(rows, kafka, checkpoint, interval, topic=target)


def test_drained_query_repeats_nothing_after_an_idle_batch(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """
    After an idle batch, `numInputRows` is 0 while the open batch has read rows; `drain` waits for that batch.

    After the deadline, the query continues. A restarted query has no progress yet, and its first batch is not batch 0.
    `stop_completely` waits for the job of a new batch, whose tasks Spark counts later.
    """
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    query = copy(spark, kafka, source, target, tmp_path, "2 seconds")
    eventually(lambda: query.lastProgress, 60, "an idle batch")
    produce(kafka, source, [(0, str(number).encode()) for number in range(20)])
    wait_until(lambda: end_offset(kafka, target) == 20, 60, "the rows", [query])
    assert query.lastProgress
    assert 0 == query.lastProgress.numInputRows

    with pytest.raises(TimeoutError, match=f"waiting for query '{tmp_path.name}' to commit a batch without input rows"):
        drain(spark, query, 0)
    assert query.isActive
    drain(spark, query, 30)

    restarted = copy(spark, kafka, source, target, tmp_path)
    assert restarted.lastProgress is None
    drain(spark, restarted, 30)
    batches = [progress.batchId for progress in restarted.recentProgress]
    assert batches[0] > 0
    assert len(batches) >= 2
    last = copy(spark, kafka, source, target, tmp_path, "10 minutes")
    produce(kafka, source, [(0, b"new")])
    wait_until(lambda: end_offset(kafka, target) > 20, 60, "the new row", [last])
    assert has_tasks(spark, last)
    stop_completely(spark, last)
    assert not has_tasks(spark, last)
    assert [*map(str, range(20)), "new"] == texts_of(kafka, target)


def test_batch_whose_tasks_started_late_does_not_end_the_input(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """After a batch without rows that left a record unread, `drain` waits until a batch has read the record."""
    source, target, held = new_topic(kafka, 1), new_topic(kafka, 1), new_topic(kafka, SLOTS)
    query = copy(spark, kafka, source, target, tmp_path / "late", interval="2 seconds")
    eventually(lambda: slots_free(spark) == SLOTS - 1, 60, "the task of the first batch")
    # When the open batch of the first query ends, this query takes its slot.
    holder = copy(spark, kafka, held, target, tmp_path / "holder", interval="10 minutes")
    eventually(lambda: slots_free(spark) == 0, 60, "all slots taken")
    finished = len(query.recentProgress)
    with ThreadPoolExecutor() as executor:
        drained = executor.submit(drain, spark, query, 60)
        eventually(lambda: len(query.recentProgress) > finished, 60, "the end of the open batch")
        produce(kafka, source, [(0, b"row")])
        ended = time.monotonic() + 4
        eventually(lambda: time.monotonic() > ended, 60, "the end of the next batch, whose interval is 2 seconds")
        holder.stop()
        drained.result()

    assert [0, 0, 1, 0] == [progress.numInputRows for progress in query.recentProgress[finished:]]
    assert ["row"] == texts_of(kafka, target)


def test_query_whose_input_ends_with_a_transaction_is_drained(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """
    A transaction's end marker has an offset that no batch reads; two batches without rows are enough.

    `starved` and `inspect` cannot distinguish the marker from an unread record, so they name the partition. By default,
    a query also reads the record of a transaction that was aborted.
    """
    source, target, committed = (new_topic(kafka, 1) for _ in range(3))
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": source, "log_level": 2})
    producer.init_transactions(60)
    for value, end in ((b"aborted", producer.abort_transaction), (b"row", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(source, value)
        assert 0 == producer.flush(60)
        end(60)
    query = copy(spark, kafka, source, target, tmp_path / "all")
    isolated = {"kafka.isolation.level": "read_committed"}
    other = copy(spark, kafka, source, committed, tmp_path / "committed", **isolated)
    wait_until(lambda: (end_offset(kafka, target), end_offset(kafka, committed)) == (2, 1), 60, "rows", [query, other])

    drain(spark, other, 60)
    drain(spark, query, 60)

    assert (["aborted", "row"], ["row"]) == (texts_of(kafka, target), texts_of(kafka, committed))
    *_, before, last = query.recentProgress
    assert [0, 0] == [before.numInputRows, last.numInputRows]
    assert ["1", "1"] == [each.sources[0].metrics["maxOffsetsBehindLatest"] for each in (before, last)]
    ends = [each.sources[0].endOffset for each in (before, last)]
    newest = json.dumps({source: {"0": end_offset(kafka, source)}})
    assert [f"{source}-0"] == definition_of(DEBUGGING, "starved")(*ends, newest)
    for log in ("offsets", "commits"):
        # Spark also deletes old entries. Without the first, no entry is older than the row.
        (tmp_path / "all" / log / "0").unlink()
    found = inspect(str(tmp_path / "all"), Connection(kafka)).findings
    [problem] = [each.text for each in found if each.level == "problem"]
    assert "does not move: it stays at offset 3" in problem
