"""Build the streaming DataFrame of a target, in this process or in the one that the check of restarts kills."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_rtm.prove.subjects import job
from spark_rtm.prove.subjects.recorders import Recording
from spark_rtm.prove.subjects.target import Job, Target
from spark_rtm.testing.trial import read_stream, read_table


@dataclass(frozen=True)
class Origin:
    """What another process needs to build the same query."""

    target: str
    partitions: Mapping[str, int]
    """The source topics and their numbers of partitions."""
    tables: Mapping[str, str]
    """The topic of each static DataFrame of a function."""
    number: int = 0
    """Number of the query among those of a job."""
    side_effects: bool = False
    """Whether the batch writes of a job run."""


def rows_of(spark: SparkSession, kafka: str, target: Target | Job, origin: Origin) -> DataFrame:
    """Return the Kafka sink rows of a target that reads the topics of `origin`."""
    if isinstance(target, Target):
        tables = {name: read_table(spark, kafka, topic) for name, topic in origin.tables.items()}
        return target.transform(read_stream(spark, kafka, next(iter(origin.partitions))), **tables)
    recording = Recording(spark.newSession(), kafka, target.path, max(origin.partitions.values()))
    recording.side_effects = origin.side_effects
    job.record(recording)
    return caught_rows(recording, origin.number)


def caught_rows(recording: Recording, number: int) -> DataFrame:
    """Return the rows of a query that a job starts; if its sink is not Kafka, the rows as JSON."""
    caught = recording.caught[number]
    return caught.frame if caught.sink.lower() == "kafka" else as_json(caught.frame)


def static_rows(recording: Recording, number: int, stream: DataFrame) -> DataFrame:
    """Return what query `number` of the job makes of a static DataFrame of Kafka source rows."""
    again = Recording(recording.spark, recording.kafka, recording.path, recording.partitions, static=stream)
    again.side_effects = recording.side_effects
    job.record(again)
    return caught_rows(again, number)


def as_json(rows: DataFrame) -> DataFrame:
    """Return rows as Kafka sink rows."""
    return rows.select(F.to_json(F.struct("*")).alias("value"))
