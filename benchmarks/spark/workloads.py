"""
The workloads as Spark expressions.

Real-time mode of OSS 4.3.0 rejects Python functions, and an expression that throws would make the query fail.
"""

import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

from benchmarks.harness.engine import Run
from benchmarks.harness.workloads import KINDS

COUNTED_SCHEMA = "id string, seq long"
INPUT_SCHEMA = "id string, seq long, kind string, ts long, amount long"
AVRO_TYPES = {"id": "string", "seq": "long", "kind": "string", "ts": "long", "amount": "long"}
AVRO_SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "event",
        "fields": [{"name": name, "type": ["null", kind]} for name, kind in AVRO_TYPES.items()],
    }
)


def answers(records: DataFrame, run: Run, *, reads_avro: bool = False, writes_avro: bool = False) -> DataFrame:
    """Convert Kafka source rows to the workload's output: Kafka sink rows with key, value and topic."""
    if run.workload == "echo":
        return records.select("key", "value", F.lit(run.target).alias("topic"))
    if run.workload == "counts":
        return _counts(records, run)
    raw = F.lit(None).cast("string") if reads_avro else F.col("value").cast("string")
    event = from_avro("value", AVRO_SCHEMA) if reads_avro else F.from_json("raw", INPUT_SCHEMA)
    decoded = records.select("key", "value", raw.alias("raw")).withColumn("event", event)
    decoded = decoded.withColumn("reason", _reason())
    if run.workload == "stateless":
        return _routed(decoded, run, writes_avro=writes_avro)
    return _states(decoded.where("reason is null"), run) if run.workload == "stateful" else _both(decoded, run)


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


def _routed(decoded: DataFrame, run: Run, *, writes_avro: bool) -> DataFrame:
    is_valid, valid, rejected = F.col("reason").isNull(), F.to_json("event"), F.to_json(F.struct("reason", "raw"))
    if writes_avro:
        valid, rejected = to_avro("event", AVRO_SCHEMA), rejected.cast("binary")
    value = F.when(is_valid, valid).otherwise(rejected)
    topic = F.when(is_valid, run.target).otherwise(run.rejected)
    return decoded.select("key", value.alias("value"), topic.alias("topic"))


def _states(valid: DataFrame, run: Run) -> DataFrame:
    states = valid.select("event.*").groupBy("id").agg(*_aggregates())
    return states.select(F.col("id").alias("key"), _state().alias("value"), F.lit(run.target).alias("topic"))


def _both(decoded: DataFrame, run: Run) -> DataFrame:
    """Aggregate the valid records, and pass each invalid record through the aggregation in its own group."""
    is_valid = F.col("reason").isNull()
    rows = decoded.select("event.*", "reason", F.when(~is_valid, F.col("raw")).alias("raw"))
    # An invalid record may have an id, which must not be the group of valid records.
    rows = rows.withColumn("id", F.when(is_valid, F.col("id")))
    states = rows.groupBy("id", "reason", "raw").agg(*_aggregates())
    value = F.when(is_valid, _state()).otherwise(F.to_json(F.struct("reason", "raw")))
    topic = F.when(is_valid, run.target).otherwise(run.rejected)
    return states.select(F.coalesce("id", "raw").alias("key"), value.alias("value"), topic.alias("topic"))


def _aggregates() -> list[Column]:
    return [
        F.max("seq").alias("seq"),
        F.min(F.when(F.col("kind") == "request", F.col("ts"))).alias("request_ts"),
        F.count_if(F.col("kind") == "impression").alias("impressions"),
        # Micro-batch mode uses an unstable sort for many keys, so the collected list has no reliable order.
        F.array_sort(F.collect_list("seq")).alias("seqs"),
        F.max("ts").alias("last_ts"),
    ]


def _state() -> Column:
    return F.to_json(F.struct("seq", "id", "request_ts", "impressions", "seqs", "last_ts"))
