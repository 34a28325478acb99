"""Answers to the task `framed_or_plain`."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

FACT = """{"type": "record", "name": "Fact",
"fields": [{"name": "fact_id", "type": "string"}, {"name": "amount", "type": "long"}]}"""
PLAIN, FRAMED = "value", "substring(value, 6)"


def decoded(records: DataFrame, data: str, mode: str = "PERMISSIVE") -> DataFrame:
    """Write decoded facts and rejected records."""
    rows = records.withColumn("fact", from_avro(F.expr(data), FACT, {"mode": mode}))
    is_good = F.expr("coalesce(fact.fact_id is not null and fact.amount is not null, false)")
    value = F.when(is_good, F.to_json("fact").cast("binary")).otherwise(F.col("value"))
    return rows.select("key", value.alias("value"), F.when(is_good, "facts").otherwise("facts-rejected").alias("topic"))


def by_first_byte(records: DataFrame, mode: str = "PERMISSIVE") -> DataFrame:
    """Skip the registry header of records that have one."""
    return decoded(records, f"if(substring(value, 1, 1) = X'00', {FRAMED}, {PLAIN})", mode)


def always_skipped(records: DataFrame) -> DataFrame:
    """Skip the first five bytes of every record."""
    return decoded(records, FRAMED)


def never_skipped(records: DataFrame) -> DataFrame:
    """Decode the header as data."""
    return decoded(records, PLAIN)


def fail_fast(records: DataFrame) -> DataFrame:
    """Keep the default mode, in which a broken record makes the query fail."""
    return by_first_byte(records, "FAILFAST")


REFERENCE = by_first_byte
WRONG = {
    always_skipped: r"2 facts missing",
    never_skipped: r"2 facts missing",
    fail_fast: r"the query ended with .*Malformed records",
}
