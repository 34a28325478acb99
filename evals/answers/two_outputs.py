"""Answers to the task `two_outputs`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def is_large() -> Column:
    """Return whether the amount of a payment reaches the limit."""
    amount = F.expr("try_cast(get_json_object(cast(value as string), '$.amount_cents') as long)")
    return F.coalesce(amount >= 100_000, F.lit(False))


def right(records: DataFrame) -> DataFrame:
    """Make one row per target from each record."""
    topics = F.when(is_large(), F.array(F.lit("ledger"), F.lit("alerts"))).otherwise(F.array(F.lit("ledger")))
    return records.select("key", "value", F.explode(topics).alias("topic"))


def union(records: DataFrame) -> DataFrame:
    """Union the stream with itself, which real-time mode refuses."""
    ledger = records.select("key", "value", F.lit("ledger").alias("topic"))
    return ledger.union(records.where(is_large()).select("key", "value", F.lit("alerts").alias("topic")))


def one_target(records: DataFrame) -> DataFrame:
    """Route each payment to only one of the topics."""
    topic = F.when(is_large(), "alerts").otherwise("ledger")
    return records.select("key", "value", topic.alias("topic"))


def null_topic(records: DataFrame) -> DataFrame:
    """Leave the second topic of a small payment null, which makes the query fail."""
    topics = F.array(F.lit("ledger"), F.when(is_large(), "alerts"))
    return records.select("key", "value", F.explode(topics).alias("topic"))


REFERENCE = right
WRONG = {
    union: r"ended with STREAMING_REAL_TIME_MODE.IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED",
    one_target: r"2 records of ledger missing",
    null_topic: r"the query ended with .*null topic",
}
