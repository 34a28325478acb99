"""
Credit each conversion to its user's touches, and emit the credit again whenever a late touch changes it.

The query reads touches from `ad-attributed`, conversions from `events`, and erasures (tombstones keyed by user) from
`ad-erasures`. Like `events_to_timeouts`, it runs in micro-batch mode by default, and in real-time mode with ticks.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from examples.attribution.correlation.rule import BILLABLE
from examples.attribution.correlation.sql import ATTRIBUTED
from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.processor import CONVERSION, TOUCH, CreditProcessor
from examples.attribution.credit.rule import OrderCredit
from examples.attribution.schemas import EVENTS, struct_of
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC, ERASURES_TOPIC, EVENTS_TOPIC
from spark_rtm.realtime.python_state import transform_with_state

CREDITS = struct_of(OrderCredit)
"""
Schema of the credit for one order, as returned by `credit.rule.OrderCredit.document`. For each result id, only the
credit with the highest version is valid.

    {"result_id": "user-4940/advertiser-2/run-o743", "version": 10, "code": "attributed", "final": false,
     "model": "position", "advertiser_id": "advertiser-2", "order_id": "run-o743", "effective_ts": 1767225655095,
     "value_micros": 88000000, "records": 1, "late_touches": 0, "path_truncated": false,
     "src": "ad-callbacks:0:000000000775", "appended_at": 1767225667102,
     "credits": [{"result_id": "run-t734/1767225577743/click/run-e741", "kind": "click",
                  "campaign_id": "run-campaign-0", "effective_ts": 1767225610095,
                  "credit_millionths": 1000000, "value_micros": 88000000}]}
"""


def touches_to_credit(
    records: DataFrame, settings: Settings, rules: CreditRules, ticks: DataFrame | None = None
) -> DataFrame:
    """
    Convert Kafka source rows of all three topics into Kafka sink rows with `CREDITS` structs as JSON.

    A conversion without a user is keyed by its order. It is counted, although it cannot be attributed to touches.
    With ticks, start the query in real-time mode, which can read records of different topics in any sequence. Credit
    does not depend on the sequence, with one exception. If a conversion is read before an earlier erasure of its user,
    its credit gets the result id for conversions from before the erasure. If a restart then reads the erasure first,
    the same conversion can get a second result id.
    """
    users = _records_by_user(records, settings)
    processor = CreditProcessor(rules.scaled(settings.time_scale))
    if ticks is None:
        orders = users.groupBy("user").transformWithState(processor, CREDITS, "update", "processingTime")
    else:
        orders = transform_with_state(users, ["user"], processor, CREDITS, ticks)
    return orders.select(
        F.col("result_id").cast("binary").alias("key"), F.to_json(F.struct("*")).cast("binary").alias("value")
    )


def _records_by_user(records: DataFrame, settings: Settings) -> DataFrame:
    text = F.col("value").cast("string")
    # A compacted topic can contain tombstones, so only a tombstone in `ad-erasures` is an erasure.
    is_tombstone = F.col("value").isNull() & F.col("key").isNotNull()
    is_erasure = is_tombstone & (F.col("topic") == settings.topic(ERASURES_TOPIC))
    result = F.when(F.col("topic") == settings.topic(ATTRIBUTED_TOPIC), F.from_json(text, ATTRIBUTED))
    event = F.when(F.col("topic") == settings.topic(EVENTS_TOPIC), F.from_json(text, EVENTS))
    decoded = records.select(
        result.alias("result"),
        event.alias("event"),
        is_erasure.alias("is_erasure"),
        F.col("key").cast("string").alias("key"),
        F.unix_millis("timestamp").alias("stored_at"),
    )
    # A valid result never becomes pending again, so the query can ignore pending versions.
    is_touch = F.col("result.kind").isin("impression", "click") & (F.col("result.code") != "pending")
    is_touch &= F.col("result.user_key").isNotNull()
    is_conversion = F.col("event.kind") == "conversion"
    order = F.concat_ws("/", F.lit(""), F.col("event.advertiser_id"), F.col("event.order_id"))
    return decoded.where(is_touch | is_conversion | F.col("is_erasure")).select(
        F.when(F.col("is_erasure"), F.col("key"))
        .otherwise(F.coalesce("result.user_key", "event.user_key", order))
        .alias("user"),
        F.when(is_touch, _touch()).alias("touch"),
        F.when(is_conversion, _conversion()).alias("conversion"),
        "stored_at",
    )


def _touch() -> Column:
    is_valid = F.col("result.code").isin(*BILLABLE)
    values = {"is_valid": is_valid, "stored_at": F.col("stored_at")}
    return F.struct(*(values.get(name, F.col(f"result.{name}")).alias(name) for name in TOUCH.names))


def _conversion() -> Column:
    values = {"stored_at": F.col("stored_at"), "seen_at": F.lit(None).cast("long")}
    return F.struct(*(values.get(name, F.col(f"event.{name}")).alias(name) for name in CONVERSION.names))
