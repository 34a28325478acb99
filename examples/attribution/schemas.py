"""Define the schemas shared by several stages: those of source records, `events` and `ad-attributed`."""

from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructField, StructType

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
"""
One source record. Times are UTC milliseconds, and `value_micros` is in millionths of the currency unit.

    {"event_id": "run-e735", "kind": "request", "transaction_id": "run-t734", "campaign_id": "run-campaign-0",
     "user_key": "user-4940", "slots": ["slot-0", "slot-1", "slot-2"],
     "event_ts": 1767225577743, "server_ts": 1767225606850, "request_ts": 1767225577743}
"""

EVENTS = StructType(
    [
        *INPUT.fields,
        StructField("effective_ts", LongType()),
        StructField("clock_skew", BooleanType()),
        StructField("src", StringType()),
        StructField("appended_at", LongType()),
    ]
)
"""
One accepted event: the source record, its effective time, and its position and append time in the source topic.

    {"event_id": "run-e735", "kind": "request", "event_ts": 1767225577743, "server_ts": 1767225606850,
     "transaction_id": "run-t734", "request_ts": 1767225577743, "campaign_id": "run-campaign-0",
     "user_key": "user-4940", "slots": ["slot-0", "slot-1", "slot-2"], "effective_ts": 1767225577743,
     "clock_skew": false, "src": "ad-requests:0:000000000079", "appended_at": 1767225606852}
"""

ATTRIBUTED = StructType(
    [
        StructField("result_id", StringType()),
        StructField("version", LongType()),
        StructField("kind", StringType()),
        StructField("code", StringType()),
        StructField("transaction_id", StringType()),
        StructField("request_ts", LongType()),
        StructField("campaign_id", StringType()),
        StructField("effective_ts", LongType()),
        StructField("src", StringType()),
        StructField("appended_at", LongType()),
        StructField("clock_skew", BooleanType()),
        StructField("user_key", StringType()),
        StructField("event_id", StringType()),
        StructField("slot_id", StringType()),
        StructField("impression_id", StringType()),
        StructField("deadline", LongType()),
    ]
)
"""
One result, with the fields of `correlation.rule.Result`; times are UTC milliseconds. For each result id, only the
highest version is valid.

    {"result_id": "run-t734/1767225577743/click/run-e741", "version": 12, "kind": "click", "code": "matched",
     "transaction_id": "run-t734", "request_ts": 1767225577743, "campaign_id": "run-campaign-0",
     "effective_ts": 1767225610095, "src": "ad-callbacks:0:000000000251", "appended_at": 1767225625702,
     "clock_skew": false, "user_key": "user-4940", "event_id": "run-e741", "impression_id": "run-i737"}
"""
