"""Results of the pipeline: the schema of the topic `ad-attributed`, and the codes that count as delivered."""

from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

BILLABLE = ("matched", "matched_late_request")
"""Codes of an impression that fills its slot."""

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
One result, as `correlation.rule.Result`; times are UTC milliseconds. The newest version of a result id counts.

    {"result_id": "run-t734/1767225577743/click/run-e741", "version": 12, "kind": "click", "code": "matched",
     "transaction_id": "run-t734", "request_ts": 1767225577743, "campaign_id": "run-campaign-0",
     "effective_ts": 1767225610095, "src": "ad-callbacks:0:000000000251", "appended_at": 1767225625702,
     "clock_skew": false, "user_key": "user-4940", "event_id": "run-e741", "impression_id": "run-i737"}
"""
