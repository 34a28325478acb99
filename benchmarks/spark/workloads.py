"""The workloads as Spark expressions; real-time mode of OSS 4.3.0 rejects Python functions."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from benchmarks.harness.engine import Run
from benchmarks.harness.workloads import KINDS

COUNTED_SCHEMA = "id string, seq long"
INPUT_SCHEMA = "id string, seq long, kind string, ts long, amount long"


def answers(records: DataFrame, run: Run) -> DataFrame:
    """Convert Kafka source rows to the output of one query: Kafka sink rows with key, value and topic."""
    if run.workload == "counts":
        return _counts(records, run)
    decoded = records.select("key", F.col("value").cast("string").alias("raw"))
    decoded = decoded.withColumn("event", F.from_json("raw", INPUT_SCHEMA)).withColumn("reason", _reason())
    return _routed(decoded, run) if run.workload == "stateless" else _states(decoded.where("reason is null"), run)


def _counts(records: DataFrame, run: Run) -> DataFrame:
    # Records that fill the state before a run have no sequence number; they neither count nor have an output.
    event = F.from_json(F.col("value").cast("string"), COUNTED_SCHEMA).alias("event")
    counts = records.select(event).select("event.*").groupBy("id")
    counted = counts.agg(F.max("seq").alias("seq"), F.count("seq").alias("count")).where("seq is not null")
    value, topic = F.to_json(F.struct("seq", "id", "count")), F.lit(run.target)
    return counted.select(F.col("id").alias("key"), value.alias("value"), topic.alias("topic"))


def _reason() -> Column:
    is_known = F.coalesce(F.col("event.kind").isin(*KINDS), F.lit(False))
    return F.when(F.col("event.id").isNull(), "missing:id").when(~is_known, "unknown_kind")


def _routed(decoded: DataFrame, run: Run) -> DataFrame:
    is_valid = F.col("reason").isNull()
    value = F.when(is_valid, F.to_json("event")).otherwise(F.to_json(F.struct("reason", "raw")))
    topic = F.when(is_valid, run.target).otherwise(run.rejected)
    return decoded.select("key", value.alias("value"), topic.alias("topic"))


def _states(valid: DataFrame, run: Run) -> DataFrame:
    states = (
        valid.select("event.*")
        .groupBy("id")
        .agg(
            F.max("seq").alias("seq"),
            F.min(F.when(F.col("kind") == "request", F.col("ts"))).alias("request_ts"),
            F.count_if(F.col("kind") == "impression").alias("impressions"),
            # Micro-batch mode uses an unstable sort for many keys, so the collected list has no reliable order.
            F.array_sort(F.collect_list("seq")).alias("seqs"),
            F.max("ts").alias("last_ts"),
        )
    )
    value = F.to_json(F.struct("seq", "id", "request_ts", "impressions", "seqs", "last_ts"))
    return states.select(F.col("id").alias("key"), value.alias("value"), F.lit(run.target).alias("topic"))
