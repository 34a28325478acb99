"""Draining: a stop after which a restart repeats nothing."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.realtime.queries import drain, stop_completely, wait_until
from tests.conftest import SLOTS
from tests.helpers import end_offset, eventually, new_topic, produce, texts_of

pytestmark = [pytest.mark.spark, pytest.mark.services]


def copy(spark: SparkSession, kafka: str, source: str, target: str, checkpoint: Path) -> StreamingQuery:
    """Start a query that copies the values of a topic."""
    stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("subscribe", source)
    values = stream.option("startingOffsets", "earliest").load().select("value")
    writer = values.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", target)
    writer = writer.option("checkpointLocation", str(checkpoint)).queryName("copied").outputMode("update")
    query: StreamingQuery = writer.trigger(realTime="2 seconds").start()  # type: ignore[call-overload]
    return query


def test_drained_query_repeats_nothing_although_its_last_batch_was_idle(
    spark: SparkSession, kafka: str, tmp_path: Path
) -> None:
    """After an idle batch, `numInputRows` is 0 while the open batch holds rows; `drain` waits for that batch."""
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    query = copy(spark, kafka, source, target, tmp_path)
    eventually(lambda: query.lastProgress, 60, "an idle batch")
    produce(kafka, source, [(0, str(number).encode()) for number in range(20)])
    wait_until(lambda: end_offset(kafka, target) == 20, 60, "the rows", [query])
    assert query.lastProgress
    assert 0 == query.lastProgress.numInputRows

    drain(spark, query, 30)

    assert not query.isActive
    restarted = copy(spark, kafka, source, target, tmp_path)
    produce(kafka, source, [(0, b"new")])
    wait_until(lambda: end_offset(kafka, target) > 20, 60, "the new row", [restarted])
    stop_completely(spark, restarted)
    assert [*map(str, range(20)), "new"] == texts_of(kafka, target)


def test_stop_after_an_idle_batch_repeats_the_open_batch(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Without `drain`, the same situation ends with duplicates."""
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    query = copy(spark, kafka, source, target, tmp_path)
    eventually(lambda: query.lastProgress, 60, "an idle batch")
    produce(kafka, source, [(0, b"row")])
    wait_until(lambda: end_offset(kafka, target) == 1, 60, "the row", [query])

    stop_completely(spark, query)

    restarted = copy(spark, kafka, source, target, tmp_path)
    wait_until(lambda: end_offset(kafka, target) == 2, 60, "the repeated row", [restarted])


def test_drain_of_a_restarted_query_waits_for_the_batch_after_its_first(
    spark: SparkSession, kafka: str, tmp_path: Path
) -> None:
    """A restarted query has no progress yet, and its first batch is not batch 0."""
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    query = copy(spark, kafka, source, target, tmp_path)
    wait_until(lambda: query.lastProgress, 60, "the first batch", [query])
    stop_completely(spark, query)
    restarted = copy(spark, kafka, source, target, tmp_path)
    assert restarted.lastProgress is None

    drain(spark, restarted, 30)

    batches = [progress.batchId for progress in restarted.recentProgress]
    assert batches[0] > 0
    assert len(batches) >= 2


def test_query_with_input_is_not_drained(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """If the input does not end, `drain` raises an error after the deadline, and the query continues."""
    source, target = new_topic(kafka, 1), new_topic(kafka, 1)
    query = copy(spark, kafka, source, target, tmp_path)

    with pytest.raises(TimeoutError, match="waiting for a batch of query 'copied' without rows or unread records"):
        drain(spark, query, 0)

    assert query.isActive


def test_query_with_unread_records_is_not_drained(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """A batch without rows is not enough: a partition without a task slot has a record that no batch reads."""
    source, target = new_topic(kafka, SLOTS + 1), new_topic(kafka, 1)
    produce(kafka, source, [(number, b"row") for number in range(SLOTS + 1)])
    query = copy(spark, kafka, source, target, tmp_path)
    wait_until(lambda: end_offset(kafka, target) == SLOTS, 60, "a record of each slot", [query])
    finished = len(query.recentProgress)

    with pytest.raises(TimeoutError, match="waiting for a batch of query 'copied' without rows or unread records"):
        drain(spark, query, 8)

    eventually(lambda: len(query.recentProgress) > finished + 1, 60, "the batch after the open one")
    assert 0 == query.recentProgress[finished + 1].numInputRows
