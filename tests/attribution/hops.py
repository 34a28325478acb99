"""One hop of the pipeline on the broker: run its query, send its input, read its output."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, Message, Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.correlation.rule import Event
from examples.attribution.pipeline import start_with_python
from spark_rtm.kafka.consumer import consumer_from_start, is_record
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import raise_if_failed, wait_until
from tests.helpers import kafka_rows, start_to_kafka

PARTITIONS = 2
DEADLINE_SECONDS = 120
TICKS = "ad-ticks"

Record = tuple[str, str, dict[str, Any] | None]
"""Topic, key and fields; a tombstone has no fields."""


class RunningHop:
    """One query from source topics to a target topic, which have their full names, and a client of these topics."""

    def __init__(
        self,
        spark: SparkSession,
        kafka: str,
        transform: Callable[[DataFrame], DataFrame],
        checkpoint: Path,
        sources: Sequence[str],
        target: str,
    ) -> None:
        """Prepare a query; `transform` maps Kafka source rows to sink rows."""
        self.spark, self.kafka, self.transform, self.checkpoint = spark, kafka, transform, checkpoint
        self.sources, self.target = sources, target
        self.client = HopClient(kafka, target)
        self.query: StreamingQuery

    def start(self, interval: str = "2 seconds") -> None:
        """Start the query in real-time mode; continue from a checkpoint."""
        self.query = start_to_kafka(self._rows(), self.kafka, self.checkpoint, interval, topic=self.target)
        assert_real_time(self.query)

    def start_micro_batch(self, interval: str = "2 seconds") -> None:
        """
        Start a query with a Python processor in micro-batch mode; continue from a checkpoint.

        Without an interval, a query with timers would run batches all the time and take a core from other tests.
        """
        writer = self._rows().writeStream.format("kafka").outputMode("update").option("topic", self.target)
        writer = writer.option("kafka.bootstrap.servers", self.kafka)
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        self.query = start_with_python(writer.trigger(processingTime=interval))

    def _rows(self) -> DataFrame:
        return self.transform(kafka_rows(self.spark, self.kafka, ",".join(self.sources)))

    def wait(self, is_true: Callable[[], object], what: str) -> None:
        """Wait until `is_true()` returns a true value; raise the error of a query that fails."""
        wait_until(is_true, DEADLINE_SECONDS, what, [self.query])

    def has_committed(self) -> bool:
        return any(progress.numInputRows for progress in self.query.recentProgress)

    def total(self, metric: str) -> int:
        """Return the sum of a metric of the state over the batches of this run."""
        return sum(getattr(p.stateOperators[0], metric) for p in self.query.recentProgress if p.stateOperators)

    def timers(self) -> int:
        timers = self.spark.read.format("statestore").option("readRegisteredTimers", "true")
        return timers.load(str(self.checkpoint)).count()


def ticks(spark: SparkSession, kafka: str) -> DataFrame:
    return kafka_rows(spark, kafka, TICKS, startingOffsets="latest")


class HopClient:
    def __init__(self, kafka: str, target: str) -> None:
        self.producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0, "log_level": 3})
        self.consumer = consumer_from_start(kafka, {target: PARTITIONS}, {"fetch.wait.max.ms": 50})
        self.newest: dict[str, dict[str, Any]] = {}
        self.rows: list[dict[str, Any]] = []

    def send(self, *records: Record) -> list[int]:
        """Send records, and return their append times."""
        appended = [0] * len(records)

        def on_delivery(n: int, error: KafkaError | None, message: Message) -> None:
            assert error is None
            appended[n] = message.timestamp()[1]

        for n, (topic, key, fields) in enumerate(records):
            value = None if fields is None else json.dumps({k: v for k, v in fields.items() if v is not None}).encode()
            self.producer.produce(topic, value, key.encode(), on_delivery=partial(on_delivery, n))
        assert 0 == self.producer.flush(30)
        return appended

    def send_events(self, topic: str, events: Iterable[Event]) -> None:
        self.send(*((topic, event.transaction_id, event_fields(event)) for event in events))

    def read(self) -> dict[str, dict[str, Any]]:
        """Read further rows, and return the newest version of each result."""
        for message in filter(is_record, self.consumer.consume(500, 0.2)):
            row = json.loads(message.value() or b"")
            assert row["result_id"].encode() == message.key()
            self.rows.append(row)
            known = self.newest.get(row["result_id"])
            if known is None or row["version"] > known["version"]:
                self.newest[row["result_id"]] = row
        return self.newest

    def await_contents(self, expected: dict[str, dict[str, Any]], queries: Sequence[StreamingQuery]) -> None:
        """Wait until the newest versions equal `expected`, ignoring their version numbers."""

        def wrong() -> dict[str, Any]:
            raise_if_failed(queries)
            found = {key: {k: v for k, v in row.items() if k != "version"} for key, row in self.read().items()}
            return {k: (expected.get(k), found.get(k)) for k in {*expected, *found} if expected.get(k) != found.get(k)}

        try:
            wait_until(lambda: not wrong(), DEADLINE_SECONDS, "the results of the rule")
        except TimeoutError as error:
            raise AssertionError(f"{error}; rows that differ: {list(wrong().items())[:3]}") from None


def event_fields(event: Event) -> dict[str, Any]:
    return {**asdict(event), "slots": event.slots or None}
