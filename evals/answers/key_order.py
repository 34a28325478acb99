"""Answers to the task `key_order`."""

from pyspark.sql import DataFrame


def right(records: DataFrame) -> DataFrame:
    """Select what the target needs, without the column `partition`, so the producer chooses it by the key."""
    return records.select("key", "value", "headers")


def all_columns(records: DataFrame) -> DataFrame:
    """Keep the column `partition` of the source, which is also the partition of the target."""
    return records


def repartitioned(records: DataFrame) -> DataFrame:
    """Repartition by key inside Spark, which does not change the partition of the target."""
    return records.repartition(2, "key")


def no_headers(records: DataFrame) -> DataFrame:
    """Select key and value only."""
    return records.select("key", "value")


REFERENCE = right
WRONG = {
    all_columns: r"the records of 6 of 6 keys are in several partitions",
    repartitioned: r"the records of 6 of 6 keys are in several partitions",
    no_headers: r"the headers are lost",
}
