"""Events of the pipeline: their kinds, and the schemas of source records and of the topic `events`."""

from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructField, StructType

STEPS = ("start", "first_quartile", "midpoint", "third_quartile", "complete")
"""Playback steps in their order."""
KINDS = ("request", "impression", "click", *STEPS, "conversion")
FAMILIES = ("impression", "click")
"""Kinds that have result codes of their own; all playback steps share the family `step`."""

INPUT = StructType(
    [
        StructField("event_id", StringType()),
        StructField("kind", StringType()),
        StructField("event_ts", LongType()),
        StructField("server_ts", LongType()),
        StructField("transaction_id", StringType()),
        StructField("request_ts", LongType()),
        StructField("campaign_id", StringType()),
        StructField("user_key", StringType()),
        StructField("slots", ArrayType(StringType())),
        StructField("slot_id", StringType()),
        StructField("impression_id", StringType()),
        StructField("creative_length_ms", LongType()),
        StructField("advertiser_id", StringType()),
        StructField("order_id", StringType()),
        StructField("value_micros", LongType()),
    ]
)
"""One source record; times in UTC milliseconds, `value_micros` in millionths of the currency unit."""

EVENTS = StructType(
    [
        *INPUT.fields,
        StructField("effective_ts", LongType()),
        StructField("clock_skew", BooleanType()),
        StructField("src", StringType()),
        StructField("appended_at", LongType()),
    ]
)
"""One accepted event: the source record, the time that counts, and its position and append time in the source topic."""
