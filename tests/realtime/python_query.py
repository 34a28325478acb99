"""A query with Python in it, for tests."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.kafka.consumer import read_topic
from spark_rtm.realtime.queries import wait_until
from tests.helpers import kafka_rows, new_topic, start_to_kafka

DEADLINE_SECONDS = 90


class PythonQuery:
    """A real-time query with Python in it, between two topics."""

    def __init__(
        self, spark: SparkSession, kafka: str, checkpoint: Path, schema: str, transform: Callable[..., DataFrame]
    ) -> None:
        """Create the topics; `transform` takes the decoded rows and the ticks."""
        self.spark, self.kafka, self.checkpoint = spark, kafka, checkpoint
        self.schema, self.transform = schema, transform
        self.source, self.ticks, self.target = (new_topic(kafka, 2) for _ in range(3))
        self.producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0, "log_level": 2})
        self.query: StreamingQuery

    def start(self, interval: str = "5 seconds") -> None:
        records, ticks = (kafka_rows(self.spark, self.kafka, one) for one in (self.source, self.ticks))
        row = F.from_json(F.col("value").cast("string"), self.schema).alias("row")
        results = self.transform(records.select(row).select("row.*"), ticks)
        texts = results.select(F.to_json(F.struct("*")).alias("value"))
        self.query = start_to_kafka(texts, self.kafka, self.checkpoint, interval, topic=self.target)

    def send(self, *rows: dict[str, Any]) -> None:
        for row in rows:
            self.producer.produce(self.source, json.dumps(row), str(row.get("key")))
        assert 0 == self.producer.flush(30)

    def results(self) -> list[dict[str, Any]]:
        return [json.loads(message.value() or b"") for message in read_topic(self.kafka, self.target)]

    def await_results(self, is_enough: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        wait_until(lambda: is_enough(self.results()), DEADLINE_SECONDS, "results", [self.query])
        return self.results()
