"""Answers to the task `read_once`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def with_id(records: DataFrame, identity: Column) -> DataFrame:
    """Return Kafka sink rows with a header `id`."""
    header = F.struct(F.lit("id").alias("key"), identity.cast("binary").alias("value"))
    return records.select("key", "value", F.array(header).alias("headers"))


def right(records: DataFrame) -> DataFrame:
    """Derive the id from the source position, which a replay does not change."""
    return with_id(records, F.concat_ws(":", "topic", "partition", "offset"))


def random(records: DataFrame) -> DataFrame:
    """Invent an id, which differs after a replay."""
    return with_id(records, F.expr("uuid()"))


def digest(records: DataFrame) -> DataFrame:
    """Derive the id from the content, so equal payments get the same id."""
    return with_id(records, F.sha2("value", 256))


def offset_only(records: DataFrame) -> DataFrame:
    """Ignore that each partition has its own offsets."""
    return with_id(records, F.col("offset").cast("string"))


def deduplicated(records: DataFrame) -> DataFrame:
    """Deduplicate in the query, which drops equal payments."""
    return with_id(records.dropDuplicates(["key", "value"]), F.concat_ws(":", "topic", "partition", "offset"))


REFERENCE = right
WRONG = {
    random: r"6 records for the reader too many",
    digest: r"4 records for the reader missing",
    offset_only: r"3 records for the reader missing",
    deduplicated: r"[1-9] records for the reader missing",
}
