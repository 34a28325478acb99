"""Answers to the task `eight_slots`."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def counts(records: DataFrame) -> DataFrame:
    """Remove repeated clicks, and count the clicks of each user. Each step has its own shuffle."""
    click = F.from_json(F.col("value").cast("string"), "user string, id string, at long").alias("click")
    rows = records.select(click).select("click.user", "click.id", F.timestamp_millis("click.at").alias("at"))
    once = rows.withWatermark("at", "1 hour").dropDuplicates(["id", "at"])
    totals = once.groupBy("user").agg(F.count("*").alias("clicks"))
    return totals.select(F.col("user").alias("key"), F.to_json(F.struct("clicks")).alias("value"))


def with_partitions(records: DataFrame, number: int) -> DataFrame:
    """Set the number of shuffle partitions, which equals the slots per step."""
    records.sparkSession.conf.set("spark.sql.shuffle.partitions", number)
    return counts(records)


def right(records: DataFrame) -> DataFrame:
    """Use 4 slots for the source and 2 for each step."""
    return with_partitions(records, 2)


def default(records: DataFrame) -> DataFrame:
    """Keep the session's number of shuffle partitions."""
    return counts(records)


def one_step(records: DataFrame) -> DataFrame:
    """Count the shuffle partitions only once for both steps: 4 + 4 slots."""
    return with_partitions(records, 4)


def coalesced(records: DataFrame) -> DataFrame:
    """Save slots by `coalesce`, which real-time mode refuses."""
    return with_partitions(records.coalesce(1), 2)


REFERENCE = right
WRONG = {
    default: r"needs 404 task slots, but the cluster has 8",
    one_step: r"needs 12 task slots, but the cluster has 8",
    coalesced: r"OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.*CoalesceExec",
}
