"""
Run one construct in real-time mode, and return its outcome as a cell of the pages' tables.

Each construct has a separate session, a source topic with five rows, and an empty target topic. The outcome is `runs`,
or the moment and the condition of the refusal. `start()` raises some refusals; others end the query when it plans its
first batch.
"""

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from confluent_kafka import Producer
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from scripts.pack import files
from spark_rtm.realtime.failures import name_of
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import QueryFailedError, raise_if_failed
from spark_rtm.text import markdown
from tests.helpers import eventually, kafka_rows, new_topic, texts_of

PAGE = files.ROOT / "references/sources_sinks_operators.md"
ENGINE = "OSS 4.3.0"
# Key and number of each input row. Kafka keeps their order, so when the last row is written, so are the others.
INPUT = (("a", 1), ("b", 2), ("a", 1), ("a", 4), ("z", 9))
LAST = "z"
# Longer than any test, so a row that is written was not held until the end of the batch.
INTERVAL = "10 minutes"
DEADLINE_SECONDS = 60.0
FAMILY = "STREAMING_REAL_TIME_MODE."
NOT_ALLOWED = FAMILY + "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"
CLASSES = re.compile(r"The (?:operator|sink)\(s\): (.*?) (?:is|are) not in the (?:operator|sink) allowlist")


@dataclass(frozen=True)
class OperatorProbe:
    """A separate session, a broker, a topic with `INPUT` in each of its partitions, and an empty target topic."""

    spark: SparkSession
    kafka: str
    topic: str
    target: str
    folder: Path

    def rows(self, **options: str) -> DataFrame:
        records = kafka_rows(self.spark, self.kafka, self.topic, **options)
        return records.selectExpr("cast(key as string) k", "cast(cast(value as string) as int) n")

    def timed(self) -> DataFrame:
        return self.rows().withColumn("at", F.expr("timestamp_seconds(60 * n)")).withWatermark("at", "1 minute")

    def names(self) -> DataFrame:
        return self.spark.sql("select * from values ('a', 'Ann'), ('z', 'Zoe') as names(k, name)")

    def sql(self, query: str) -> DataFrame:
        self.rows().createOrReplaceTempView("rows")
        self.names().createOrReplaceTempView("names")
        return self.spark.sql(query)

    def write(self, stream: DataFrame, **options: str) -> DataStreamWriter:
        return self.write_columns(as_texts(stream), **options)

    def write_columns(self, stream: DataFrame, **options: str) -> DataStreamWriter:
        """Return a writer that sends a stream with the columns of the sink to Kafka; empty options are omitted."""
        defaults = {"topic": self.target, "checkpointLocation": self.new_folder()}
        options = {"kafka.bootstrap.servers": self.kafka, **defaults, **options}
        writer = stream.writeStream.format("kafka")
        return in_real_time(writer.options(**{name: text for name, text in options.items() if text}))

    def with_empty_target(self) -> "OperatorProbe":
        return replace(self, target=new_topic(self.kafka, 1))

    def new_folder(self) -> str:
        return str(self.folder / uuid.uuid4().hex)

    def send(self, key: str, number: int) -> None:
        send(self.kafka, self.topic, [(key, number)])

    def texts(self) -> list[str]:
        return texts_of(self.kafka, self.target)


def as_texts(rows: DataFrame) -> DataFrame:
    renamed = rows.toDF(*(f"c{number}" for number in range(len(rows.columns))))
    texts = [F.coalesce(F.col(name).cast("string"), F.lit("-")) for name in renamed.columns]
    return renamed.select(F.concat_ws(" ", *texts).alias("value"))


def cells_of_page() -> dict[tuple[str, str], str]:
    """Return the OSS cell of each row of the page, by the heading above the table and the first cell."""
    text = PAGE.read_text(encoding="utf-8")
    headings = markdown.headings(text)
    return {
        ([heading.title for heading in headings if heading.line < table.line][-1], row[0]): row[column]
        for table in markdown.tables(text)
        if ENGINE in table.header
        for column in [table.header.index(ENGINE)]
        for _, row in table.rows
    }


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


Observe = Callable[[OperatorProbe], str]


def writes(build: Callable[[OperatorProbe], DataFrame], *rows: str) -> Observe:
    """Observe a DataFrame whose query writes exactly these rows to Kafka, or, without rows, is refused."""
    return starts(lambda probe: probe.write(build(probe)).start(), *rows)


def starts(start: Callable[[OperatorProbe], StreamingQuery], *rows: str) -> Observe:
    """Observe a query, which must write its rows long before the batch ends, as `writes` does."""
    count = sum(text.startswith(LAST) for text in rows) or 1

    def observe(probe: OperatorProbe) -> str:
        query = None
        try:
            query = running = start(probe)
            eventually(
                lambda: running.exception() or sum(text.startswith(LAST) for text in probe.texts()) >= count,
                *(DEADLINE_SECONDS, f"{rows} or a failure"),
            )
            raise_if_failed([running])
            assert_real_time(running)
            written = probe.texts()
            return "runs" if sorted(rows) == sorted(written) else f"runs and writes {written}"
        except QueryFailedError as error:
            return f"while running: {refusal(error.__cause__ or error)}"
        except (PySparkException, Py4JJavaError) as error:
            return f"at start: {refusal(error)}"
        finally:
            if query:
                query.stop()

    return observe


def together(*observes: Observe) -> Observe:
    return lambda probe: " or ".join(dict.fromkeys(observe(probe.with_empty_target()) for observe in observes))


def once(observe: Observe) -> Observe:
    """Observe a query that contains the constructs of several rows, and return its outcome for each of them."""
    found: list[str] = []

    def observed(probe: OperatorProbe) -> str:
        found.extend(() if found else [observe(probe)])
        return found[0]

    return observed


def refusal(error: BaseException) -> str:
    """Return the classes that are not in the allowlist, else the condition without its family, else the message."""
    name, message = name_of(error), str(error).partition("\n")[0]
    listed = CLASSES.search(message)
    if name == NOT_ALLOWED and listed:
        return "not in allowlist: " + ", ".join(f"`{part.rpartition('.')[2]}`" for part in listed[1].split(", "))
    return f'"{message}"' if name == StreamingQueryException.__name__ else f"`{name.removeprefix(FAMILY)}`"
