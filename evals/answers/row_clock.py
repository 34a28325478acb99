"""Answers to the task `row_clock`."""

import time

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def rows(records: DataFrame, now: Column) -> DataFrame:
    """Add a time to the value."""
    number = F.from_json(F.col("value").cast("string"), "n int").getField("n")
    return records.select("key", F.to_json(F.struct(number.alias("n"), now.alias("processed_ms"))).alias("value"))


def right(records: DataFrame) -> DataFrame:
    """Call the JVM's clock for each row."""
    return rows(records, F.expr("cast(reflect('java.lang.System', 'currentTimeMillis') as long)"))


def batch_time(records: DataFrame) -> DataFrame:
    """Use `current_timestamp`, the start time of the batch."""
    return rows(records, F.unix_millis(F.current_timestamp()))


def python_clock(records: DataFrame) -> DataFrame:
    """Call the clock in a Python function, which real-time mode refuses."""
    return rows(records, F.udf(lambda _: int(1000 * time.time()), "long")(F.col("value")))


def append_time(records: DataFrame) -> DataFrame:
    """Use the time of the record in Kafka."""
    return rows(records, F.unix_millis("timestamp"))


REFERENCE = right
WRONG = {
    batch_time: r"ms before its record was appended",
    python_clock: r"OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.*ArrowEvalPythonExec",
    append_time: r"is the append time of each record",
}
