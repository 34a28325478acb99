import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime import control
from spark_rtm.realtime.joins import TimeBound, inner_join
from spark_rtm.realtime.positions import committed_position
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import KAFKA_SINK, wait_until
from tests.helpers import kafka_rows, new_topic, produce, start_to_kafka, texts_of

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(200)]

BOUND = TimeBound(within_seconds=10, lateness_seconds=10)
SYMMETRIC = TimeBound(within_seconds=10, lateness_seconds=10, before_seconds=10)
START_MS = 1_700_000_000_000


class Event(NamedTuple):
    side: int
    key: str
    at_ms: int
    name: str


class Topics(NamedTuple):
    kafka: str
    left: str
    right: str
    target: str


@pytest.fixture
def topics(kafka: str) -> Topics:
    return Topics(kafka, new_topic(kafka, 1), new_topic(kafka, 1), new_topic(kafka, 1))


def history(seed: int = 7) -> list[Event]:
    """Return events of 25 keys in any order: 0 to 3 per side, some repeated, many on the limits of the bound."""
    chosen, events = random.Random(seed), list[Event]()
    for key in map(str, range(25)):
        begin_ms = START_MS + chosen.randrange(30_000)
        for number in range(chosen.randrange(4)):
            events.append(Event(0, key, begin_ms + chosen.choice([0, 1, 9_999]), f"left-{number}"))
        for number in range(chosen.randrange(4)):
            after_ms = chosen.choice([-10_001, -10_000, -1, 0, 1, 5_000, 9_999, 10_000, 10_001, 19_999, 20_001])
            events.append(Event(1, key, begin_ms + after_ms, f"right-{number}"))
    events += chosen.sample(events, 10)
    chosen.shuffle(events)
    return events


def send(topics: Topics, events: Sequence[Event]) -> None:
    for side, topic in enumerate((topics.left, topics.right)):
        rows = [{"key": key, "at_ms": at_ms, "name": name} for of, key, at_ms, name in events if of == side]
        produce(topics.kafka, topic, [(0, json.dumps(row).encode()) for row in rows])


def rows_of(records: DataFrame) -> DataFrame:
    event = F.from_json(F.col("value").cast("string"), "key string, at_ms long, name string").alias("event")
    return records.select(event).select(
        "event.key", F.timestamp_millis("event.at_ms").alias("at"), F.col("event.name").alias("row")
    )


def start(
    spark: SparkSession, topics: Topics, checkpoint: Path, interval: str = "1 minute", bound: TimeBound = BOUND
) -> StreamingQuery:
    """Start the join, which writes each pair as text; without an interval, it reads what is there in micro-batches."""
    source = control.SOURCE if interval else "kafka"
    left, right = (rows_of(kafka_rows(spark, topics.kafka, topic, source)) for topic in (topics.left, topics.right))
    pairs = inner_join(left, right, bound)
    rows = pairs.select("key", F.concat_ws(" ", "key", "left.row", "right.row").alias("value"))
    trigger: tuple[Any, str] = (interval, "realTime") if interval else (True, "availableNow")
    return start_to_kafka(rows, topics.kafka, checkpoint, *trigger, topic=topics.target, **KAFKA_SINK)


def batch_join(spark: SparkSession, topics: Topics) -> set[str]:
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", topics.kafka)
    left, right = (rows_of(source.option("subscribe", topic).load()) for topic in (topics.left, topics.right))
    left, right = left.withColumnRenamed("at", "shown_at"), right.withColumnRenamed("row", "right_row")
    between = "at BETWEEN shown_at - INTERVAL 10 SECONDS AND shown_at + INTERVAL 10 SECONDS"
    pairs = left.join(right, "key").where(between)
    return {row[0] for row in pairs.select(F.concat_ws(" ", "key", "row", "right_row")).collect()}


@pytest.mark.parametrize("values", [(0, 0), (1, -1), (1, 0, -1)], ids=["no bound", "negative lateness", "negative"])
def test_bound_without_time_is_refused(values: tuple[int, ...]) -> None:
    """A bound of zero seconds has no buckets, and a negative lateness would drop rows in time."""
    with pytest.raises(ValueError, match="at least"):
        TimeBound(*values)


def test_join_equals_batch_join_in_both_modes(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    send(topics, history())
    for topic in (topics.left, topics.right):
        produce(topics.kafka, topic, [(0, b"{bad"), (0, b'{"key": "0", "name": "no time"}'), (0, None)])
    expected = batch_join(spark, topics)
    assert len(expected) > 20

    start(spark, topics, tmp_path / "batch", "", SYMMETRIC).awaitTermination()
    in_batch = texts_of(topics.kafka, topics.target)
    query = start(spark, topics, tmp_path / "real-time", bound=SYMMETRIC)
    assert_real_time(query)
    wait_until(lambda: set(texts_of(topics.kafka, topics.target, len(in_batch))) >= expected, 60, "all pairs", [query])

    assert expected == set(in_batch) == set(texts_of(topics.kafka, topics.target))
    left, right = committed_position(tmp_path / "batch").sources
    assert (topics.left, topics.right) == (*left, *right)


def test_state_is_kept_while_a_partner_can_arrive(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    """A row finds its partner at the limit of the lateness, not one millisecond later; an idle stream keeps state."""
    query = start(spark, topics, tmp_path)

    def both(key: str, at_ms: int) -> None:
        """Send a pair to both streams and wait for the watermark."""
        send(topics, [Event(0, key, at_ms, "left"), Event(1, key, at_ms, "right")])
        wait_until(lambda: f"{key} left right" in texts_of(topics.kafka, topics.target), 60, key, [query])
        end_two_batches()

    def end_two_batches() -> None:
        for _ in range(2):
            control.commit(query)

    def state_rows() -> int:
        return query.recentProgress[-1].stateOperators[0].numRowsTotal

    def dropped() -> int:
        return sum(progress.stateOperators[0].numRowsDroppedByWatermark for progress in query.recentProgress)

    # The left row is at the end of its bucket of 10 s, the right row at the end of the time bound.
    send(topics, [Event(0, "a", START_MS + 9_999, "left")])
    both("b", START_MS + 29_999)
    send(topics, [Event(1, "a", START_MS + 19_999, "in-time")])
    wait_until(lambda: "a left in-time" in texts_of(topics.kafka, topics.target), 60, "the late pair", [query])
    assert 0 == dropped()
    both("c", START_MS + 30_000)
    send(topics, [Event(1, "a", START_MS + 19_999, "too-late")])
    wait_until(lambda: control.commit(query) and dropped() > 0, 60, "a dropped row", [query])
    send(topics, [Event(0, "d", START_MS + 3_600_000, "left")])
    control.drain(query)
    assert state_rows() > 2
    both("d", START_MS + 3_600_000)
    wait_until(lambda: control.commit(query) and state_rows() <= 2, 60, "the state to be removed", [query])

    pairs = {"b left right", "a left in-time", "c left right", "d left right"}
    assert pairs == set(texts_of(topics.kafka, topics.target))
