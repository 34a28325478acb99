"""A join of two streams as union and aggregation writes exactly the pairs of a batch join of the same records."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from examples.realtime.joins import TimeBound, inner_join
from examples.realtime.positions import committed_position
from examples.realtime.proof import assert_real_time
from examples.realtime.queries import KAFKA_SINK, wait_until
from tests.helpers import new_topic, produce, texts_of

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(200)]

BOUND = TimeBound(within_seconds=10, lateness_seconds=5)
START_MS = 1_700_000_000_000


class Event(NamedTuple):
    """A record of one of the two topics."""

    side: int
    key: str
    at_ms: int
    name: str


class Topics(NamedTuple):
    """The broker, the two source topics and the target topic."""

    kafka: str
    left: str
    right: str
    target: str


@pytest.fixture
def topics(kafka: str) -> Topics:
    """Return new topics."""
    return Topics(kafka, new_topic(kafka, 1), new_topic(kafka, 1), new_topic(kafka, 1))


def history(seed: int = 7) -> list[Event]:
    """Return events of 25 keys in any order: 0 to 3 on each side, some repeated, many on the limits of the bound."""
    chosen, events = random.Random(seed), list[Event]()
    for key in map(str, range(25)):
        begin_ms = START_MS + chosen.randrange(30_000)
        for number in range(chosen.randrange(4)):
            events.append(Event(0, key, begin_ms + chosen.choice([0, 1, 9_999]), f"left-{number}"))
        for number in range(chosen.randrange(4)):
            after_ms = chosen.choice([-1, 0, 1, 5_000, 9_999, 10_000, 10_001, 19_999, 20_001])
            events.append(Event(1, key, begin_ms + after_ms, f"right-{number}"))
    events += chosen.sample(events, 10)
    chosen.shuffle(events)
    return events


def send(topics: Topics, events: Iterable[Event]) -> None:
    """Send events to the topics of their sides."""
    for event in events:
        value = json.dumps({"key": event.key, "at_ms": event.at_ms, "name": event.name}).encode()
        produce(topics.kafka, (topics.left, topics.right)[event.side], [(0, value)])


def rows_of(records: DataFrame) -> DataFrame:
    """Return the columns of a side of the join."""
    event = F.from_json(F.col("value").cast("string"), "key string, at_ms long, name string").alias("event")
    return records.select(event).select(
        "event.key", F.timestamp_millis("event.at_ms").alias("at"), F.col("event.name").alias("row")
    )


def start(spark: SparkSession, topics: Topics, checkpoint: Path, trigger: dict[str, object]) -> StreamingQuery:
    """Start the join; it writes each pair as text."""
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", topics.kafka)
    source = source.option("startingOffsets", "earliest")
    left, right = (rows_of(source.option("subscribe", topic).load()) for topic in (topics.left, topics.right))
    pairs = inner_join(left, right, BOUND)
    rows = pairs.select("key", F.concat_ws(" ", "key", "left.row", "right.row").alias("value"))
    writer = rows.writeStream.format("kafka").options(**KAFKA_SINK, topic=topics.target).outputMode("update")
    writer = writer.option("kafka.bootstrap.servers", topics.kafka).queryName("joined")
    return writer.option("checkpointLocation", str(checkpoint)).trigger(**trigger).start()  # type: ignore[arg-type]


def batch_join(spark: SparkSession, topics: Topics) -> set[str]:
    """Return the pairs that a batch query finds in the same topics."""
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", topics.kafka)
    left, right = (rows_of(source.option("subscribe", topic).load()) for topic in (topics.left, topics.right))
    left, right = left.withColumnRenamed("at", "shown_at"), right.withColumnRenamed("row", "right_row")
    pairs = left.join(right, "key").where("at BETWEEN shown_at AND shown_at + INTERVAL 10 SECONDS")
    return {row[0] for row in pairs.select(F.concat_ws(" ", "key", "row", "right_row")).collect()}


def test_join_equals_batch_join_in_both_modes(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    """Rows one at a time in real-time mode and all together in one batch give the pairs of the batch join."""
    send(topics, history())
    expected = batch_join(spark, topics)
    assert len(expected) > 20

    start(spark, topics, tmp_path / "batch", {"availableNow": True}).awaitTermination()
    in_batch = texts_of(topics.kafka, topics.target)
    query = start(spark, topics, tmp_path / "real-time", {"realTime": "1 minute"})
    assert_real_time(query)
    wait_until(lambda: set(texts_of(topics.kafka, topics.target, len(in_batch))) >= expected, 60, "all pairs", [query])

    assert expected == set(in_batch) == set(texts_of(topics.kafka, topics.target))
    left, right = committed_position(tmp_path / "batch").sources
    assert (topics.left, topics.right) == (*left, *right)


def test_state_expires_when_both_streams_have_passed(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    """A row at the limit of the lateness finds its pair; an idle stream keeps the state; afterwards it is removed."""
    query = start(spark, topics, tmp_path, {"realTime": "1 second"})

    def state_rows() -> int:
        progress = query.lastProgress
        return progress.stateOperators[0].numRowsTotal if progress else 0

    end_ms = START_MS + 10_000
    send(topics, [Event(0, "a", START_MS, "left"), Event(0, "b", end_ms + 5_000, "left")])
    wait_until(lambda: state_rows() == 2, 60, "2 keys in the state", [query])
    send(topics, [Event(1, "b", end_ms + 5_000, "right"), Event(1, "a", end_ms, "late")])
    wait_until(lambda: len(texts_of(topics.kafka, topics.target)) >= 2, 60, "2 pairs", [query])
    send(topics, [Event(0, "c", end_ms + 3_600_000, "left")])
    seen = query.lastProgress.batchId
    wait_until(lambda: query.lastProgress.batchId > seen + 3, 60, "3 batches", [query])
    assert state_rows() >= 3
    send(topics, [Event(1, "c", end_ms + 3_600_000, "right")])
    wait_until(lambda: state_rows() <= 2, 60, "the state of 2 keys to be removed", [query])

    assert {"a left late", "b left right", "c left right"} == set(texts_of(topics.kafka, topics.target))
