"""Build the streaming DataFrame of a target, in this process or in the one that `restart` kills."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import pyarrow
from confluent_kafka import OFFSET_END, TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.prove.subjects import job
from spark_rtm.prove.subjects.recorders import Recording
from spark_rtm.prove.subjects.target import Job, Target, subscribed
from spark_rtm.testing.records import Sent
from spark_rtm.testing.trial import (
    ANY_SIZE,
    FLUSH_SECONDS,
    admin_of,
    delete_records,
    producer_of,
    read_stream,
    read_table,
)

HEADER = pyarrow.struct({"key": pyarrow.string(), "value": pyarrow.binary()})
SOURCE_ROW = pyarrow.schema(
    {
        "key": pyarrow.binary(),
        "value": pyarrow.binary(),
        "topic": pyarrow.string(),
        "partition": pyarrow.int32(),
        "offset": pyarrow.int64(),
        "timestamp": pyarrow.timestamp("us", "UTC"),
        "timestampType": pyarrow.int32(),
        "headers": pyarrow.list_(HEADER),
    }
)
"""One row of the Kafka source with the option `includeHeaders`."""


def rows_of(
    spark: SparkSession,
    kafka: str,
    target: Target | Job,
    partitions: Mapping[str, int],
    tables: Mapping[str, str],
    number: int = 0,
) -> DataFrame:
    """
    Return the Kafka sink rows of a function, or of query `number` of a job.

    A function reads the first topic of `partitions` as its stream. `tables` maps its other parameters to topics.
    """
    if isinstance(target, Target):
        frames = {name: read_table(spark, kafka, topic) for name, topic in tables.items()}
        return target.transform(read_stream(spark, kafka, next(iter(partitions))), **frames)
    recording = Recording(spark.newSession(), kafka, target, max(partitions.values()))
    job.record(recording)
    return caught_rows(recording, number)


def caught_rows(recording: Recording, number: int) -> DataFrame:
    """Return the rows of one query of a job, as JSON if its sink is not Kafka."""
    caught = recording.caught[number]
    return caught.frame if caught.is_to_kafka else caught.frame.select(F.to_json(F.struct("*")).alias("value"))


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
            job.record(again)
            recording.on_static = again
        self._rows = caught_rows(recording.on_static, number)
        self._producer, self._admin = producer_of(self._kafka), admin_of(self._kafka)

    def rows_of(self, records: Iterable[Sent]) -> DataFrame:
        """Return the query's rows for some records. The next call replaces the rows."""
        delete_records(self._admin, [TopicPartition(self._topic, 0, OFFSET_END)])
        for record in records:
            self._producer.produce(self._topic, record.value, record.key, 0, headers=list(record.headers))
        if remaining := self._producer.flush(FLUSH_SECONDS):
            raise RuntimeError(f"the broker did not accept {remaining} records for topic {self._topic!r}")
        return self._rows.select("*")


def local_rows(spark: SparkSession, records: Iterable[Sent], topic: str) -> DataFrame:
    """Return records as a static DataFrame of Kafka source rows."""
    constant = {"topic": topic, "partition": 0, "timestamp": datetime.now(UTC), "timestampType": 1}
    rows = [
        {
            "key": record.key,
            "value": record.value,
            "offset": offset,
            "headers": [{"key": name, "value": value} for name, value in record.headers] or None,
            **constant,
        }
        for offset, record in enumerate(records)
    ]
    # An Arrow table becomes a local relation, which Spark evaluates without a job; a list would become an RDD.
    return spark.createDataFrame(pyarrow.Table.from_pylist(rows, SOURCE_ROW))
