"""Build the streaming DataFrame of a target, in this process or in the one that `restart` kills."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_rtm.prove.job import runner
from spark_rtm.prove.job.recorders import Recording
from spark_rtm.prove.job.target import Job, Target, subscribed
from spark_rtm.testing.trial import read_stream, read_table


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
        return target.transform(read_stream(spark, kafka, next(iter(partitions))), **tables_of(spark, kafka, tables))
    recording = Recording(spark.newSession(), kafka, target, max(partitions.values()))
    runner.record(recording)
    return caught_rows(recording, number)


def tables_of(spark: SparkSession, kafka: str, tables: Mapping[str, str]) -> dict[str, DataFrame]:
    """Return the static DataFrames of a function, keyed by parameter name. `tables` maps these names to topics."""
    return {name: read_table(spark, kafka, topic) for name, topic in tables.items()}


def caught_rows(recording: Recording, number: int) -> DataFrame:
    """Return the rows of one query of a job, as JSON if its sink is not Kafka."""
    caught = recording.caught[number]
    return caught.frame if caught.is_to_kafka else caught.frame.select(F.to_json(F.struct("*")).alias("value"))


def topics_of(rows: DataFrame) -> list[str]:
    """Return the Kafka topics of the streams that a DataFrame reads."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - PySpark has no plan
    found = list[str]()
    for leaf in map(leaves.apply, range(leaves.size())):
        if leaf.getClass().getSimpleName() == "StreamingRelationV2":
            options = {key: leaf.extraOptions().get(key) for key in ("subscribe", "subscribePattern", "assign")}
            found += subscribed({key: value for key, value in options.items() if value})[0]
    return list(dict.fromkeys(found))
