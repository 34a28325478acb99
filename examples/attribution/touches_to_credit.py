"""
Give credit for each conversion to the touches of its user, and restate it while late touches may come.

What arrives are records of `ad-attributed` (touches), of `events` (conversions) and tombstones keyed by user (erasure);
what leaves are answers for `ad-credits`, keyed by result id.
Real-time mode demands Databricks here: open-source Spark 4.3 refuses Python processors in it with
STDS_FAILED_TO_READ_OPERATOR_METADATA, so that this query runs in micro-batch beside the real-time ones.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructField, StructType

from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.processor import CONVERSION, TOUCH, CreditProcessor
from examples.attribution.events import EVENTS
from examples.attribution.results import ATTRIBUTED, BILLABLE
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC, EVENTS_TOPIC

CREDITS = StructType(
    [
        StructField("result_id", StringType()),
        StructField("version", LongType()),
        StructField("code", StringType()),
        StructField("final", BooleanType()),
        StructField("model", StringType()),
        StructField("advertiser_id", StringType()),
        StructField("order_id", StringType()),
        StructField("effective_ts", LongType()),
        StructField("value_micros", LongType()),
        StructField("records", LongType()),
        StructField("late_touches", LongType()),
        StructField("path_truncated", BooleanType()),
        StructField("src", StringType()),
        StructField("appended_at", LongType()),
        StructField(
            "credits",
            ArrayType(
                StructType(
                    [
                        StructField("result_id", StringType()),
                        StructField("kind", StringType()),
                        StructField("campaign_id", StringType()),
                        StructField("effective_ts", LongType()),
                        StructField("credit_millionths", LongType()),
                        StructField("value_micros", LongType()),
                    ]
                )
            ),
        ),
    ]
)
"""One answer, as `credit_rule.Credited`; the newest version of a result id counts."""


def touches_to_credit(records: DataFrame, settings: Settings, rules: CreditRules) -> DataFrame:
    """
    Turn Kafka source rows of all three topics into Kafka sink rows (key, value) of `CREDITS` structs as JSON.

    A conversion without user has a key of its own: it is unattributed, but counted.
    """
    answers = (
        _news(records, settings)
        .groupBy("user")
        .transformWithState(CreditProcessor(rules.scaled(settings.time_scale)), CREDITS, "update", "processingTime")
    )
    return answers.select(
        F.col("result_id").cast("binary").alias("key"), F.to_json(F.struct("*")).cast("binary").alias("value")
    )


def _news(records: DataFrame, settings: Settings) -> DataFrame:
    text, is_erasure = F.col("value").cast("string"), F.col("value").isNull() & F.col("key").isNotNull()
    result = F.when(F.col("topic") == settings.topic(ATTRIBUTED_TOPIC), F.from_json(text, ATTRIBUTED))
    event = F.when(F.col("topic") == settings.topic(EVENTS_TOPIC), F.from_json(text, EVENTS))
    decoded = records.select(
        result.alias("result"),
        event.alias("event"),
        is_erasure.alias("is_erasure"),
        F.col("key").cast("string").alias("key"),
        F.unix_millis("timestamp").alias("stored_at"),
    )
    # A pending result never follows one that was valid, so that nothing is lost without it.
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
