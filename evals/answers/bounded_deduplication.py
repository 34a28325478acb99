"""Answers to the task `bounded_deduplication`."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def alarms(records: DataFrame) -> DataFrame:
    """Return the columns `key`, `value`, `id`, `at` and `timestamp` with a watermark on `at`."""
    alarm = F.from_json(F.col("value").cast("string"), "id string, at long")
    rows = records.select("key", "value", "timestamp", alarm.alias("alarm"))
    timed = rows.select("key", "value", "timestamp", "alarm.id", F.timestamp_millis("alarm.at").alias("at"))
    return timed.withWatermark("at", "10 minutes")


def right(records: DataFrame) -> DataFrame:
    """Deduplicate by id and event time, so the watermark removes the state."""
    return alarms(records).dropDuplicates(["id", "at"]).select("key", "value")


def only_id(records: DataFrame) -> DataFrame:
    """Deduplicate by id alone, so the state never expires, despite the watermark."""
    return alarms(records).dropDuplicates(["id"]).select("key", "value")


def within_watermark(records: DataFrame) -> DataFrame:
    """Use `dropDuplicatesWithinWatermark`, which real-time mode refuses."""
    return alarms(records).dropDuplicatesWithinWatermark(["id"]).select("key", "value")


def append_time(records: DataFrame) -> DataFrame:
    """Deduplicate with the time of the record in Kafka, which differs for each repetition."""
    alarm = F.from_json(F.col("value").cast("string"), "id string, at long")
    rows = records.select("key", "value", "timestamp", alarm.getField("id").alias("id"))
    return rows.withWatermark("timestamp", "10 minutes").dropDuplicates(["id", "timestamp"]).select("key", "value")


REFERENCE = right
WRONG = {
    only_id: r"rows of state never expire",
    within_watermark: r"OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.*StreamingDeduplicateWithinWatermarkExec",
    append_time: r"alarms too many",
}
