"""
The works as Spark expressions.

Kafka source rows arrive, Kafka sink rows leave: key, value, topic.
Real-time mode demands no Python here and nothing that throws; an aggregation answers each row with one row.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from examples.benchmarks.harness.engine import Run
from examples.benchmarks.harness.workloads import KINDS

INPUT = "id string, seq long, kind string, ts long, amount long"


def answers(records: DataFrame, run: Run) -> DataFrame:
    """Return the rows that answer `records`."""
    if run.work == "echo":
        return records.select("key", "value", F.lit(run.target).alias("topic"))
    decoded = (
        records.select("key", F.col("value").cast("string").alias("raw"))
        .withColumn("event", F.from_json("raw", INPUT))
        .withColumn("reason", _reason())
    )
    return _states(decoded, run) if run.work == "stateful" else _routed(decoded, run)


def _reason() -> Column:
    is_known = F.coalesce(F.col("event.kind").isin(*KINDS), F.lit(False))
    return F.when(F.col("event.id").isNull(), "missing:id").when(~is_known, "unknown_kind")


def _routed(decoded: DataFrame, run: Run) -> DataFrame:
    is_good = F.col("reason").isNull()
    value = F.when(is_good, F.to_json("event")).otherwise(F.to_json(F.struct("reason", "raw")))
    return decoded.select(
        "key", value.alias("value"), F.when(is_good, run.target).otherwise(run.rejected).alias("topic")
    )


def _states(decoded: DataFrame, run: Run) -> DataFrame:
    events = decoded.where("reason is null").select("event.*")
    states = events.groupBy("id").agg(
        F.max("seq").alias("seq"),
        F.min(F.when(F.col("kind") == "request", F.col("ts"))).alias("request_ts"),
        F.count_if(F.col("kind") == "impression").alias("impressions"),
        # Micro-batch sorts many keys by an unstable sort, so that the list alone is in no order.
        F.array_sort(F.collect_list("seq")).alias("seqs"),
        F.max("ts").alias("last_ts"),
    )
    names = ("seq", "id", "request_ts", "impressions", "seqs", "last_ts")
    return states.select(
        F.col("id").alias("key"), F.to_json(F.struct(*names)).alias("value"), F.lit(run.target).alias("topic")
    )
