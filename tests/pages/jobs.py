from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_rtm.realtime.queries import stop_completely, wait_until
from tests.helpers import end_offset, kafka_rows, new_topic, produce, start_to_kafka, texts_of

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PREPARED = {FORMAT: "2", PROVIDER: ROCKSDB}
"""Settings of a micro-batch query whose checkpoint real-time mode can continue."""

Mode = Literal["micro-batch", "async progress", "continuous", "real-time"]
# Commits to wait for after the next one until a written record is committed. An epoch can end before it contains the
# record.
ADDITIONAL_COMMITS = {"continuous": 1, "real-time": 0}


@dataclass(frozen=True)
class ModeJob:
    spark: SparkSession
    kafka: str
    source: str
    target: str
    checkpoint: Path
    shapes: tuple[str, ...] = ()
    output_mode: str = "update"
    starting_offsets: str = "earliest"

    def rows(self, **options: str) -> DataFrame:
        return kafka_rows(self.spark, self.kafka, self.source, **options)

    def copy(self, rows: DataFrame, interval: str = "2 seconds", **options: str) -> StreamingQuery:
        return start_to_kafka(rows, self.kafka, self.checkpoint, interval, **{"topic": self.target, **options})


def new_job(spark: SparkSession, kafka: str, checkpoint: Path) -> ModeJob:
    """Return a job with its own session, topics and checkpoint; the session has Spark's default state settings."""
    session = spark.newSession()
    for key in (FORMAT, PROVIDER):
        session.conf.unset(key)
    session.conf.set("spark.sql.shuffle.partitions", "1")
    return ModeJob(session, kafka, new_topic(kafka, 1), new_topic(kafka, 1), checkpoint)


def prepare(session: SparkSession) -> SparkSession:
    for key, value in PREPARED.items():
        session.conf.set(key, value)
    session.conf.set("spark.sql.shuffle.partitions", "1")
    return session


def _slow_for_b(value: Column) -> Column:
    """Return a computation that takes seconds for `b` and ignores interrupts."""
    numbers = F.sequence(F.lit(1), F.lit(30_000_000))
    odd = F.aggregate(numbers, F.lit(0), lambda count, number: count + number % 2)
    return F.when(value != "b", "a").when(odd > 1, "b")


SHAPES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "counted": lambda rows: rows.groupBy("key").count().select("key", F.col("count").cast("string").alias("value")),
    # A seed is a record whose value is the old query's count; every other record counts as one.
    "counted from seeds": lambda rows: (
        rows.groupBy("key")
        .agg(F.sum(F.coalesce(rows.value.try_cast("long"), F.lit(1))).alias("count"))
        .select("key", F.col("count").cast("string").alias("value"))
    ),
    "repartitioned": lambda rows: rows.repartition(2),
    "timed": lambda rows: rows.withColumn("value", F.concat("value", F.current_timestamp().cast("string"))),
    "slow for b": lambda rows: rows.withColumn("value", _slow_for_b(rows.value)),
    "failing for b": lambda rows: rows.withColumn(
        "value", F.when(rows.value == "b", F.raise_error(F.lit("b"))).otherwise("a")
    ),
    "through Python": lambda rows: rows.withColumn("value", F.udf(str.upper)("value")),
}
SINKS: dict[str, Callable[[DataStreamWriter, Path], DataStreamWriter]] = {
    "foreachBatch": lambda writer, _: writer.foreachBatch(lambda rows, _: rows.foreach(print)),
    "foreach": lambda writer, _: writer.foreach(print),
    "console": lambda writer, _: writer.format("console"),
    "files": lambda writer, folder: writer.format("parquet").option("path", str(folder / "files")),
}
"""Sinks other than Kafka, each with the job's checkpoint folder as its second argument."""


def stream_of(job: ModeJob) -> DataFrame:
    records = job.rows(startingOffsets=job.starting_offsets)
    stream = records.select(F.lit("all").alias("key"), F.col("value").cast("string"))
    for shape in job.shapes:
        stream = stream if shape in SINKS else SHAPES[shape](stream)
    return stream


def start(job: ModeJob, mode: Mode, interval: str = "2 seconds") -> StreamingQuery:
    """Start a job; `interval` is the commit interval of continuous mode, real-time mode and async progress tracking."""
    writer = stream_of(job).writeStream.outputMode(job.output_mode).option("checkpointLocation", str(job.checkpoint))
    writer = writer.queryName(mode)
    sink = next((SINKS[shape] for shape in job.shapes if shape in SINKS), None)
    if sink:
        writer = sink(writer, job.checkpoint)
    else:
        writer = writer.format("kafka").option("kafka.bootstrap.servers", job.kafka).option("topic", job.target)
    match mode:
        case "real-time":
            query: StreamingQuery = writer.trigger(realTime=interval).start()  # type: ignore[call-overload]
            return query
        case "continuous":
            return writer.trigger(continuous=interval).start()
        case "async progress":
            milliseconds = str(1000 * int(interval.split(maxsplit=1)[0]))
            writer = writer.option("asyncProgressTrackingCheckpointIntervalMs", milliseconds)
            writer = writer.option("asyncProgressTrackingEnabled", "true")
    return writer.trigger(processingTime="0 seconds").start()


def send(job: ModeJob, *values: str) -> None:
    produce(job.kafka, job.source, [(0, value.encode()) for value in values])


def written(job: ModeJob) -> list[str]:
    return texts_of(job.kafka, job.target)


def run_until(job: ModeJob, mode: Mode, count: int, interval: str = "2 seconds") -> list[str]:
    """Run a job until it has written and committed `count` records, stop it, and return the values in its target."""
    committed = newest_entry(job.checkpoint / "commits")
    query = start(job, mode, interval)
    wait_until(lambda: end_offset(job.kafka, job.target) >= count, 60, f"{count} records", [query])
    if mode in ADDITIONAL_COMMITS:
        committed = newest_entry(job.checkpoint / "commits") + ADDITIONAL_COMMITS[mode]
    wait_until(lambda: newest_entry(job.checkpoint / "commits") > committed, 60, "a commit", [query])
    stop_completely(job.spark, query)
    return written(job)


def newest_entry(log: Path) -> int:
    return max((int(entry.name) for entry in log.glob("[0-9]*") if entry.suffix == ""), default=-1)
