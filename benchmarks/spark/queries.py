"""The workloads as Spark expressions, and a run's queries in any of Spark's execution modes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.harness.engine import Run
from benchmarks.harness.workloads import KINDS, Workload
from spark_rtm.realtime.control import SOURCE
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.slots import preflight

COUNTED_SCHEMA = "id string, seq long"
INPUT_SCHEMA = "id string, seq long, kind string, ts long, amount long"
SHORT_INTERVALS = {"spark.sql.streaming.realTimeMode.minBatchDuration": "1s"}
"""Setting that allows trigger intervals below five seconds, because a run needs several batch boundaries."""

STAGGERED_SHARE = 1.5
Mode = Literal["micro-batch", "async progress", "continuous", "real-time"]


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


@dataclass(frozen=True)
class SparkOptions:
    """Execution mode and settings of a Spark engine."""

    mode: Mode
    interval_seconds: float = 30
    """Trigger interval of real-time mode. Continuous mode uses epochs of one second; other modes have no interval."""
    copies: int = 1
    """Number of copies of the query, each with its own checkpoint."""
    shuffle_partitions: int = 2
    slots: int = 8
    """Number of task slots of the local master, equal in all modes."""
    confs: Mapping[str, str] = field(default_factory=dict)
    """Session settings beyond `spark_rtm.services.spark`."""
    source_format: str = "kafka"
    """The `kafka` source, or the source whose batches end on command."""
    source: Mapping[str, str] = field(default_factory=dict)
    sink: Mapping[str, str] = field(default_factory=lambda: {"kafka.linger.ms": "0"})
    warm_up_batches: int = 0
    """Number of empty batches in real-time mode before the first record."""
    checkpoint_dir: str = ""
    """Folder for checkpoints; empty for the run's folder."""

    def checkpoint(self, run: Run) -> Path:
        """Return the folder that contains the checkpoints of a run's queries."""
        return Path(self.checkpoint_dir or run.folder) / f"checkpoints-{run.source}"

    def intervals(self, workload: Workload) -> dict[str, float]:
        """Return the trigger interval of each query by query name."""
        names = (name for copy in range(self.copies) for name in names_of(workload, copy))
        return dict.fromkeys(names, self.interval_seconds)


def names_of(workload: Workload, copy: int) -> list[str]:
    """Return the names of the streaming queries of one copy."""
    return [f"hop_{hop}_{copy}" for hop in (0, 1)] if workload == "two hops" else [f"copy_{copy}"]


def start_queries(spark: SparkSession, options: SparkOptions, run: Run, copy: int = 0) -> list[StreamingQuery]:
    """Start the queries of one copy. In real-time mode, verify the mode of each query."""
    parts = [run]
    if run.workload == "two hops":
        parts = [
            replace(run, workload="stateless", target=run.middle),
            replace(run, workload="stateful", source=run.middle),
        ]
    names = names_of(run.workload, copy)
    streams = {name: _stream(spark, options, part) for name, part in zip(names, parts, strict=True)}
    preflight(spark, {name: (stream, run.partitions) for name, stream in streams.items()})
    queries = list[StreamingQuery]()
    # A command ends the batches of a staggered copy. Its interval only counts when the other copy has ended.
    interval_seconds = options.interval_seconds * (STAGGERED_SHARE if is_staggered(options, copy) else 1)
    for name, stream in streams.items():
        queries.append(_start(stream, options, run, name, interval_seconds))
        if options.mode == "real-time":
            assert_real_time(queries[-1])
    return queries


def is_staggered(options: SparkOptions, copy: int) -> bool:
    """Return whether a copy commits in the middle of the previous copy's batches."""
    return copy > 0 and options.source_format == SOURCE


def trigger_interval(seconds: float) -> str:
    """Return a trigger interval in the format of real-time triggers."""
    return f"{seconds * 1000:.0f} milliseconds"


def _stream(spark: SparkSession, options: SparkOptions, run: Run) -> DataFrame:
    kafka = {"kafka.bootstrap.servers": run.bootstrap_servers, "subscribe": run.source, "startingOffsets": "earliest"}
    records = spark.readStream.format(options.source_format).options(**kafka, **options.source).load()
    return answers(records, run)


def _start(stream: DataFrame, options: SparkOptions, run: Run, name: str, interval_seconds: float) -> StreamingQuery:
    writer = stream.writeStream.format("kafka").options(**options.sink).queryName(name).outputMode("update")
    writer = writer.option("kafka.bootstrap.servers", run.bootstrap_servers)
    writer = writer.option("checkpointLocation", str(options.checkpoint(run) / name))
    if options.mode == "real-time":
        # PySpark 4.3.0's type hints lack this keyword.
        writer = writer.trigger(realTime=trigger_interval(interval_seconds))  # type: ignore[call-overload]
    elif options.mode == "continuous":
        writer = writer.trigger(continuous="1 second")
    else:
        is_async = options.mode == "async progress"
        writer = writer.option("asyncProgressTrackingEnabled", is_async).trigger(processingTime="0 seconds")
    return writer.start()
