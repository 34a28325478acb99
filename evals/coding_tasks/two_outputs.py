"""Every payment is in the ledger, and each large payment is also among the alerts."""

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from evals.stage import Answer, outputs, require_same, wrong
from spark_rtm.prove.engine import Bench
from spark_rtm.testing.records import Sent

AMOUNTS = (5, 99_999, 100_000, 250_000)


def verify(bench: Bench, answer: Answer) -> None:
    """Send payments below, at and above the limit, and compare the records of both topics."""
    sent = [Sent(json.dumps({"amount_cents": amount}).encode(), str(amount).encode()) for amount in AMOUNTS]
    found = outputs(bench, answer, sent)
    large = [record for record in sent if int(record.key or b"0") >= 100_000]
    for topic, expected in (("ledger", sent), ("alerts", large)):
        written = [(record.key, record.value) for record in found if record.topic == topic]
        require_same([(record.key, record.value) for record in expected], written, f"records of {topic}")
    require_same([], [record.topic for record in found if record.topic not in ("ledger", "alerts")], "topics")


def is_large() -> Column:
    """Return whether the amount of a payment reaches the limit."""
    amount = F.expr("try_cast(get_json_object(cast(value as string), '$.amount_cents') as long)")
    return F.coalesce(amount >= 100_000, F.lit(False))


def right(records: DataFrame) -> DataFrame:
    """Create one row per target topic from each record."""
    topics = F.when(is_large(), F.array(F.lit("ledger"), F.lit("alerts"))).otherwise(F.array(F.lit("ledger")))
    return records.select("key", "value", F.explode(topics).alias("topic"))


@wrong(r"ended with STREAMING_REAL_TIME_MODE.IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED")
def union(records: DataFrame) -> DataFrame:
    """Union the stream with itself, which real-time mode does not support."""
    ledger = records.select("key", "value", F.lit("ledger").alias("topic"))
    return ledger.union(records.where(is_large()).select("key", "value", F.lit("alerts").alias("topic")))


@wrong(r"2 missing records of ledger")
def one_target(records: DataFrame) -> DataFrame:
    """Route each payment to only one of the topics."""
    topic = F.when(is_large(), "alerts").otherwise("ledger")
    return records.select("key", "value", topic.alias("topic"))


@wrong(r"the query ended with .*null topic")
def null_topic(records: DataFrame) -> DataFrame:
    """Leave the second topic of a small payment null, which makes the query fail."""
    topics = F.array(F.lit("ledger"), F.when(is_large(), "alerts"))
    return records.select("key", "value", F.explode(topics).alias("topic"))
