"""The stateful hop on the broker: what it emits per event, and that its state ends."""

import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.settings import Settings
from examples.realtime.proof import assert_real_time
from examples.realtime.queries import raise_if_failed
from tests.helpers import eventually

pytestmark = [pytest.mark.spark, pytest.mark.services]

T = int(time.time() * 1000)
REQUEST = Event(T, "r", "src:0:1", "request", "t", T, "c", T, T, slots=("s",))
SHOWN = replace(REQUEST, event_id="i", src="src:0:2", kind="impression", slots=(), slot_id="s", impression_id="x")
SHOWN = replace(SHOWN, creative_length_ms=9)
COPY = replace(SHOWN, src="src:0:3")
CLICK = replace(SHOWN, event_id="k", src="src:0:4", kind="click", slot_id=None, creative_length_ms=None)


class Hop:
    """The running query, with a way in and a way out."""

    def __init__(self, spark: SparkSession, kafka: str, settings: Settings, checkpoint: Path) -> None:
        """Start it."""
        source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka)
        source = source.option("subscribe", settings.topic("events")).option("startingOffsets", "earliest")
        writer = events_to_attributed(source.load(), settings).writeStream.format("kafka").outputMode("update")
        writer = writer.option("kafka.bootstrap.servers", kafka).option("topic", settings.topic("ad-attributed"))
        writer = writer.option("checkpointLocation", str(checkpoint))
        self.query: StreamingQuery
        if settings.trigger == "real-time":
            self.query = writer.trigger(realTime="2 seconds").start()  # type: ignore[call-overload]
            assert_real_time(self.query)
        else:
            self.query = writer.trigger(processingTime="0 seconds").start()
        self.topic = settings.topic("events")
        self.producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})
        self.consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test", "fetch.wait.max.ms": 10})
        target = settings.topic("ad-attributed")
        self.consumer.assign([TopicPartition(target, partition, 0) for partition in range(settings.partitions)])

    def send(self, *events: Event) -> None:
        """Append events, all in one partition."""
        for event in events:
            fields = {k: v for k, v in asdict(event).items() if v not in (None, ())}
            self.producer.produce(self.topic, json.dumps(fields).encode(), event.transaction_id.encode(), partition=0)
        assert 0 == self.producer.flush(30)

    def results(self, count: int) -> list[Result]:
        """Wait for the next `count` rows, in any order of partitions, and return them."""
        rows: list[Result] = []

        def read() -> bool:
            raise_if_failed([self.query])
            for message in self.consumer.consume(100, 0.1):
                fields: dict[str, Any] = json.loads(message.value() or b"")
                assert fields["result_id"].encode() == message.key()
                rows.append(Result(**fields))
            return len(rows) >= count

        eventually(read, 60, f"{count} rows of results")
        return sorted(rows, key=lambda result: result.result_id)


def rule(*events: Event) -> dict[str, Result]:
    """Return the plain rule's results by id."""
    return {result.result_id: result for result in correlate(events, Settings().windows)}


def test_each_event_emits_the_results_that_it_changed_and_no_others(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """One row per changed result; an event that Kafka delivers again changes nothing."""
    hop = Hop(spark, kafka, settings, tmp_path / "checkpoint")
    history: list[Event] = []
    known: dict[str, Result] = {}

    for event, changed in ((REQUEST, 2), (SHOWN, 2), (COPY, 1), (CLICK, 1)):
        hop.send(event)
        history.append(event)
        expected = [
            result
            for result_id, result in rule(*history).items()
            if result_id not in known or replace(known[result_id], version=result.version) != result
        ]
        assert changed == len(expected)
        assert sorted(expected, key=lambda result: result.result_id) == hop.results(changed)
        known = rule(*history)

    hop.send(SHOWN, REQUEST, replace(CLICK, event_id="k2", src="src:0:5"))
    assert ["repeat_click"] == [result.code for result in hop.results(1)]


def test_in_micro_batch_mode_all_results_of_the_transaction_come_together(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """Many events may share one row there, so that the newest event alone cannot tell what changed."""
    own = replace(settings, trigger="micro-batch")
    producer_first = (REQUEST, SHOWN, COPY, CLICK)
    hop = Hop(spark, kafka, own, tmp_path / "checkpoint")

    hop.send(*producer_first)

    expected = sorted(rule(*producer_first).values(), key=lambda result: result.result_id)
    newest: dict[str, Result] = {}

    def settled() -> bool:
        newest.update({result.result_id: result for result in hop.results(1)})
        return [newest[key] for key in sorted(newest)] == expected

    eventually(settled, 60, "the results of the rule")


def test_the_state_of_a_transaction_ends_behind_the_watermark(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """When newer requests have moved the watermark past all windows, the state is removed at the end of a batch."""
    own = replace(settings, watermark_slack_ms=1_000)
    hop = Hop(spark, kafka, own, tmp_path / "checkpoint")
    hop.send(REQUEST)
    hop.results(2)
    later = T + own.windows.horizon_ms + own.watermark_slack_ms + 1_000

    hop.send(replace(REQUEST, transaction_id="later", request_ts=later, src="src:0:9"))
    hop.results(2)

    def removed() -> int:
        raise_if_failed([hop.query])
        return sum(p.stateOperators[0].numRowsRemoved for p in hop.query.recentProgress)

    eventually(removed, 60, "a removed transaction")
    assert 1 == removed()
    assert 1 == hop.query.recentProgress[-1].stateOperators[0].numRowsTotal
