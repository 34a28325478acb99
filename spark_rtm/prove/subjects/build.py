"""Build the streaming DataFrame of a target, in this process or in the one that `restart` kills."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow
from confluent_kafka import OFFSET_END, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.prove.subjects import job
from spark_rtm.prove.subjects.recorders import Recording
from spark_rtm.prove.subjects.target import Job, Target, subscribed
from spark_rtm.testing.records import Sent
from spark_rtm.testing.trial import ANY_SIZE, FLUSH_SECONDS, MAX_SENT_BYTES, read_stream, read_table

HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
SOURCE_ROW = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField("headers", ArrayType(HEADER)),
    ]
)
"""One row of the Kafka source with the option `includeHeaders`."""


@dataclass(frozen=True)
class Origin:
    """The data with which another process builds the same query."""

    target: str
    partitions: Mapping[str, int]
    """Source topics with their numbers of partitions."""
    tables: Mapping[str, str]
    """The topic of each static DataFrame of a function."""
    number: int = 0
    """Position of the query in its job."""
    side_effects: bool = False
    """Whether the job's batch writes run each time its code runs."""
    arguments: Sequence[str] = ()
    confs: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    """The working folder of `prove`."""


def rows_of(spark: SparkSession, kafka: str, target: Target | Job, origin: Origin) -> DataFrame:
    """Return the Kafka sink rows of a target that reads the topics of `origin`."""
    if isinstance(target, Target):
        tables = {name: read_table(spark, kafka, topic) for name, topic in origin.tables.items()}
        return target.transform(read_stream(spark, kafka, next(iter(origin.partitions))), **tables)
    started = replace(target, folder=Path(origin.folder))
    recording = Recording(spark.newSession(), kafka, started, max(origin.partitions.values()))
    recording.side_effects = origin.side_effects
    job.record(recording)
    return caught_rows(recording, origin.number)


def caught_rows(recording: Recording, number: int) -> DataFrame:
    """Return the rows of one query of a job, as JSON if its sink is not Kafka."""
    caught = recording.caught[number]
    return caught.frame if caught.sink.lower() == "kafka" else as_json(caught.frame)


def topics_of(rows: DataFrame) -> list[str]:
    """Return the Kafka topics of the streams below some rows."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - PySpark has no plan
    found = list[str]()
    for leaf in map(leaves.apply, range(leaves.size())):
        if leaf.getClass().getSimpleName() == "StreamingRelationV2":
            options = {key: leaf.extraOptions().get(key) for key in ("subscribe", "subscribePattern", "assign")}
            found += subscribed({key: value for key, value in options.items() if value})[0]
    return list(dict.fromkeys(found))


class StaticQuery:
    """
    A query of a job on static Kafka source rows.

    The job runs once. Each evaluation fills a topic with new rows, which Spark reads again for each query on the same
    plan.
    """

    def __init__(self, recording: Recording, number: int) -> None:
        """Run the job on the rows of the topic, unless another of its queries already did."""
        self._kafka, self._topic = recording.kafka, f"prove-rows-of-{recording.topics[0]}"
        if recording.on_static is None:
            ensure_topics(self._kafka, [self._topic], 1, {self._topic: ANY_SIZE})
            rows = read_table(recording.spark, self._kafka, self._topic)
            again = Recording(recording.spark, self._kafka, recording.job, recording.partitions, static=rows)
            again.side_effects = recording.side_effects
            job.record(again)
            recording.on_static = again
        self._rows = caught_rows(recording.on_static, number)
        confs = {"bootstrap.servers": self._kafka, "linger.ms": 0, "message.max.bytes": MAX_SENT_BYTES}
        self._producer = Producer(confs)
        self._admin = AdminClient({"bootstrap.servers": self._kafka, "log_level": 3})

    def rows_of(self, records: Iterable[Sent]) -> DataFrame:
        """Return the query's rows for some records. The next call replaces the rows."""
        for emptied in self._admin.delete_records([TopicPartition(self._topic, 0, OFFSET_END)]).values():
            emptied.result(FLUSH_SECONDS)
        for record in records:
            self._producer.produce(self._topic, record.value, record.key, 0, headers=list(record.headers))
        if remaining := self._producer.flush(FLUSH_SECONDS):
            raise RuntimeError(f"the broker did not accept {remaining} records for topic {self._topic!r}")
        return self._rows.select("*")


def as_json(rows: DataFrame) -> DataFrame:
    """Return rows as Kafka sink rows."""
    return rows.select(F.to_json(F.struct("*")).alias("value"))


def local_rows(spark: SparkSession, records: Iterable[Sent], topic: str) -> DataFrame:
    """Return records as a static DataFrame of Kafka source rows."""
    now = datetime.now(UTC)
    rows = [
        {
            "key": record.key,
            "value": record.value,
            "topic": topic,
            "partition": 0,
            "offset": offset,
            "timestamp": now,
            "timestampType": 1,
            "headers": [{"key": name, "value": value} for name, value in record.headers] or None,
        }
        for offset, record in enumerate(records)
    ]
    # An Arrow table becomes a local relation, which Spark evaluates without a job; a list would become an RDD.
    return spark.createDataFrame(
        pyarrow.Table.from_pylist(rows, to_arrow_schema(SOURCE_ROW, timezone="UTC")), SOURCE_ROW
    )
