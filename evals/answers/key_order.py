"""Answers to the task `key_order`."""

from pyspark.sql import DataFrame


def right(records: DataFrame) -> DataFrame:
    """Select the target's columns without `partition`, so the producer chooses the partition by key."""
    return records.select("key", "value", "headers")


def all_columns(records: DataFrame) -> DataFrame:
    """Keep the source's column `partition`, which also sets the target partition."""
    return records


def repartitioned(records: DataFrame) -> DataFrame:
    """Repartition by key inside Spark, which does not change the target partition."""
    return records.repartition(2, "key")


def no_headers(records: DataFrame) -> DataFrame:
    """Select only key and value."""
    return records.select("key", "value")


REFERENCE = right
WRONG = {
    all_columns: r"6 of 6 keys have records in more than one partition",
    repartitioned: r"6 of 6 keys have records in more than one partition",
    no_headers: r"the headers are lost",
}
