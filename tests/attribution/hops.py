"""One hop of the pipeline on the broker: run its query, send its input, read its output."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, Message, Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.pipeline import start_with_python
from spark_rtm.kafka.consumer import consumer_from_start, is_record
from spark_rtm.realtime.queries import raise_if_failed
from tests.helpers import eventually, kafka_rows

PARTITIONS = 2
DEADLINE_SECONDS = 120
TICKS = "ad-ticks"


class RunningHop:
    """One query from sources to a target; topics have their full names."""

    def __init__(
        self,
        spark: SparkSession,
        kafka: str,
        transform: Callable[[DataFrame], DataFrame],
        checkpoint: Path,
        *,
        has_python: bool = False,
    ) -> None:
        """Prepare a query; `transform` maps Kafka source rows to sink rows, with or without a Python processor."""
        self.spark, self.kafka, self.transform, self.checkpoint = spark, kafka, transform, checkpoint
        self.has_python = has_python
        self.query: StreamingQuery

    def start(
        self, sources: Sequence[str], target: str, *, real_time: bool = False, interval: str = "2 seconds"
    ) -> None:
        """
        Start the query in real-time or micro-batch mode; continue from a checkpoint.

        Without the interval, a query with timers would run batches all the time and take a core from other tests.
        """
        rows = kafka_rows(self.spark, self.kafka, ",".join(sources))
        writer = self.transform(rows).writeStream.format("kafka").outputMode("update")
        writer = writer.option("kafka.bootstrap.servers", self.kafka).option("topic", target)
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        if real_time:
            self.query = writer.trigger(realTime=interval).start()  # type: ignore[call-overload]
            return
        writer = writer.trigger(processingTime=interval)
        self.query = start_with_python(writer) if self.has_python else writer.start()

    def has_committed(self) -> bool:
        raise_if_failed([self.query])
        return any(progress.numInputRows for progress in self.query.recentProgress)

    def ticks(self) -> DataFrame:
        return kafka_rows(self.spark, self.kafka, TICKS, startingOffsets="latest")

    def state_rows(self) -> int:
        raise_if_failed([self.query])
        progress = self.query.lastProgress
        return progress.stateOperators[0].numRowsTotal if progress and progress.stateOperators else -1

    def timers(self) -> int:
        timers = self.spark.read.format("statestore").option("readRegisteredTimers", "true")
        return timers.load(str(self.checkpoint)).count()


class HopClient:
    def __init__(self, kafka: str, target: str) -> None:
        self.producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0, "log_level": 3})
        self.consumer = consumer_from_start(kafka, {target: PARTITIONS}, {"fetch.wait.max.ms": 50})
        self.newest: dict[str, dict[str, Any]] = {}
        self.rows: list[dict[str, Any]] = []

    def send(self, topic: str, key: str, fields: dict[str, Any] | None) -> int:
        return self.send_all([(topic, key, fields)])[0]

    def send_all(self, records: Sequence[tuple[str, str, dict[str, Any] | None]]) -> list[int]:
        appended = [0] * len(records)

        def on_delivery(n: int, error: KafkaError | None, message: Message) -> None:
            assert error is None
            appended[n] = message.timestamp()[1]

        for n, (topic, key, fields) in enumerate(records):
            value = None if fields is None else json.dumps({k: v for k, v in fields.items() if v is not None}).encode()
            self.producer.produce(topic, value, key.encode(), on_delivery=partial(on_delivery, n))
        assert 0 == self.producer.flush(30)
        return appended

    def read(self) -> dict[str, dict[str, Any]]:
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

        def contents() -> dict[str, dict[str, Any]]:
            raise_if_failed(queries)
            return {key: {k: v for k, v in row.items() if k != "version"} for key, row in self.read().items()}

        try:
            eventually(lambda: contents() == expected, DEADLINE_SECONDS, "the results of the rule")
        except AssertionError:
            found = contents()
            wrong = {key: (row, found.get(key)) for key, row in expected.items() if row != found.get(key)}
            raise AssertionError(
                f"{len(wrong)} of {len(expected)} rows differ, such as {dict(list(wrong.items())[:3])}; "
                f"unexpected: {sorted(set(found) - set(expected))[:3]}"
            ) from None
