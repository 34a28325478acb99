"""Run one construct in real-time mode: a separate session, a source topic with five rows, an empty target topic."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.helpers import new_topic, texts_of

# Key and number of each input row. Kafka keeps their order, so when the last row is written, so are the others.
INPUT = (("a", 1), ("b", 2), ("a", 1), ("a", 4), ("z", 9))
LAST = "z"
# Longer than any test, so a row that is written was not held until the end of the batch.
INTERVAL = "10 minutes"

Options = Mapping[str, str | None]
"""Options of a source or sink; options with the value None are omitted."""
NO_OPTIONS: Options = MappingProxyType({})


@dataclass(frozen=True)
class OperatorProbe:
    """A separate session, a broker, a topic with `INPUT` in each of its partitions, and an empty target topic."""

    spark: SparkSession
    kafka: str
    topic: str
    target: str
    folder: Path

    def records(self, options: Options = NO_OPTIONS) -> DataFrame:
        defaults = {"kafka.bootstrap.servers": self.kafka, "subscribe": self.topic, "startingOffsets": "earliest"}
        return self.spark.readStream.format("kafka").options(**_present({**defaults, **options})).load()

    def rows(self, options: Options = NO_OPTIONS) -> DataFrame:
        return self.records(options).selectExpr("cast(key as string) k", "cast(cast(value as string) as int) n")

    def timed(self) -> DataFrame:
        return self.rows().withColumn("at", F.expr("timestamp_seconds(60 * n)")).withWatermark("at", "1 minute")

    def names(self) -> DataFrame:
        return self.spark.sql("select * from values ('a', 'Ann'), ('z', 'Zoe') as names(k, name)")

    def sql(self, query: str) -> DataFrame:
        self.rows().createOrReplaceTempView("rows")
        self.names().createOrReplaceTempView("names")
        return self.spark.sql(query)

    def write(self, stream: DataFrame, options: Options = NO_OPTIONS) -> DataStreamWriter:
        renamed = stream.toDF(*(f"c{number}" for number in range(len(stream.columns))))
        texts = [F.coalesce(F.col(name).cast("string"), F.lit("-")) for name in renamed.columns]
        return self.write_columns(renamed.select(F.concat_ws(" ", *texts).alias("value")), options)

    def write_columns(self, stream: DataFrame, options: Options = NO_OPTIONS) -> DataStreamWriter:
        """Return a writer that sends a stream with the columns of the sink to Kafka."""
        defaults = {
            "kafka.bootstrap.servers": self.kafka,
            "topic": self.target,
            "checkpointLocation": self.new_folder(),
        }
        return in_real_time(stream.writeStream.format("kafka").options(**_present({**defaults, **options})))

    def with_empty_target(self) -> "OperatorProbe":
        return replace(self, target=new_topic(self.kafka, 1))

    def new_folder(self) -> str:
        return str(self.folder / uuid.uuid4().hex)

    def send(self, key: str, number: int) -> None:
        send(self.kafka, self.topic, [(key, number)])

    def texts(self) -> list[str]:
        return texts_of(self.kafka, self.target)


def open_probe(spark: SparkSession, kafka: str, topic: str, folder: Path) -> OperatorProbe:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    return OperatorProbe(session, kafka, topic, new_topic(kafka, 1), folder)


def create_input(kafka: str, partitions: int = 1) -> str:
    topic = new_topic(kafka, partitions)
    for partition in range(partitions):
        send(kafka, topic, INPUT, partition)
    return topic


def send(kafka: str, topic: str, rows: tuple[tuple[str, int], ...] | list[tuple[str, int]], partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})
    for key, number in rows:
        producer.produce(topic, str(number).encode(), key.encode(), partition=partition)
    assert 0 == producer.flush(30)


def in_real_time(writer: DataStreamWriter, interval: str = INTERVAL) -> DataStreamWriter:
    real_time: DataStreamWriter = writer.outputMode("update").trigger(realTime=interval)  # type: ignore[call-overload]
    return real_time


def _present(options: Options) -> dict[str, str]:
    return {key: value for key, value in options.items() if value is not None}
