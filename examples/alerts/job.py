"""
Run one job from Kafka to Kafka until Ctrl-C.

A real-time query needs existing topics, enough task slots, the output mode `update` and a checkpoint. `start` creates
missing topics, checks the task slots, and sets the output mode and the checkpoint.
"""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass

from confluent_kafka import KafkaException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.command_line import arguments_of
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.control import source_format
from spark_rtm.realtime.keeper import POLL_SECONDS, Keeper
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import KAFKA_SINK, stop_on_interrupt
from spark_rtm.realtime.slots import preflight
from spark_rtm.services.kafka import NO_SERVERS
from spark_rtm.services.spark import build_session

SINK = KAFKA_SINK | {
    # By default, a query waits 60 s for a target topic that does not exist, and then fails.
    "kafka.max.block.ms": "10000"
}


@dataclass(frozen=True)
class Options:
    """Options that all alert jobs share."""

    bootstrap_servers: str
    """Address of the Kafka cluster, from the environment variable KAFKA_BOOTSTRAP_SERVERS."""
    topic_prefix: str = ""
    """Prefix of all topic names. Different prefixes separate several runs on one cluster."""
    checkpoint_dir: str = "checkpoints"
    """Folder for checkpoints, which all executors of a cluster must be able to reach."""
    interval_seconds: int = 300
    """
    Seconds between two commits, at least 5. Does not affect latency. A restart replays at most this many seconds.
    """
    partitions: int = 2
    """Number of partitions of each topic that the job creates."""
    slots: int = 8
    """Number of task slots of a local master."""
    master: str = ""
    """Spark master URL, for example spark://host:7077. The default is a local master."""


@dataclass(frozen=True)
class Job:
    """
    One job from Kafka to Kafka.

    `transform` converts the Kafka source rows of `reads` to Kafka sink rows. The topic names in these rows
    have no prefix.
    """

    transform: Callable[..., DataFrame]
    summary: str
    reads: tuple[str, ...]
    """Source topics. The topics that are read as streams come before the topics that are read as tables."""
    writes: tuple[str, ...]
    streams: int = 1
    """Number of topics in `reads` that are read as streams."""
    companion: Callable[[Options], AbstractContextManager[object]] = nullcontext
    """Context manager that is active while the query runs."""

    @property
    def name(self) -> str:
        """Return the name of `transform`."""
        return self.transform.__name__

    def build(self, spark: SparkSession, options: Options) -> DataFrame:
        """Return the Kafka sink rows of the job."""
        streams = [read_stream(spark, options, topic) for topic in self.reads[: self.streams]]
        return self.transform(*streams, *(read_table(spark, options, topic) for topic in self.reads[self.streams :]))


def read_stream(spark: SparkSession, options: Options, topic: str) -> DataFrame:
    """Return the rows of a topic as a stream. On a new checkpoint, the query reads the topic from the beginning."""
    source = spark.readStream.format(source_format()).option("kafka.bootstrap.servers", options.bootstrap_servers)
    return source.option("subscribe", options.topic_prefix + topic).option("startingOffsets", "earliest").load()


def read_table(spark: SparkSession, options: Options, topic: str) -> DataFrame:
    """Return the rows of a topic as a table, which Spark reads again in each batch."""
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", options.bootstrap_servers)
    return source.option("subscribe", options.topic_prefix + topic).load()


def start(job: Job, spark: SparkSession, options: Options) -> StreamingQuery:
    """Create missing topics, check the task slots, and start the query of the job."""
    names = [options.topic_prefix + name for name in (*job.reads, *job.writes)]
    partitions = ensure_topics(options.bootstrap_servers, names, options.partitions)
    stream = job.build(spark, options).withColumn("topic", F.concat(F.lit(options.topic_prefix), "topic"))
    preflight(spark, {job.name: (stream, sum(partitions[name] for name in names[: job.streams]))})
    writer = stream.writeStream.format("kafka").options(**SINK)
    writer = writer.option("kafka.bootstrap.servers", options.bootstrap_servers)
    writer = writer.option("checkpointLocation", f"{options.checkpoint_dir}/{job.name}")
    writer = writer.queryName(job.name).outputMode("update")
    # PySpark 4.3.0's type hints do not contain the keyword argument `realTime`.
    return writer.trigger(realTime=f"{options.interval_seconds} seconds").start()  # type: ignore[call-overload, no-any-return]


def run(job: Job, arguments: Sequence[str]) -> int:
    """Keep the job running until Ctrl-C, then return 0. If the job cannot continue, print an error and return 1."""
    options = _parse(job, arguments)
    stop = threading.Event()
    try:
        with ExitStack() as stack:
            spark = build_session(job.name, master=options.master, slots=options.slots)
            stack.callback(spark.stop)
            stop_on_interrupt(stop)
            stack.enter_context(job.companion(options))
            keeper = Keeper(spark, {job.name: lambda: start(job, spark, options)})
            stack.callback(keeper.stop)
            keeper.start()
            assert_real_time(keeper.queries[job.name])
            flow = f"{job.reads[0]} -> {', '.join(job.writes)}"
            print(f"{job.name} runs in real-time mode: {flow}; press Ctrl-C to stop", flush=True)
            _follow(keeper, job.name, stop)
    except KeyboardInterrupt:
        return 0
    except (RuntimeError, ValueError, TimeoutError, KafkaException) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _follow(keeper: Keeper, name: str, stop: threading.Event) -> None:
    last_batch_id = -1
    while not stop.wait(POLL_SECONDS) and keeper.poll():
        progress = keeper.queries[name].lastProgress
        if progress and progress.batchId > last_batch_id:
            last_batch_id = progress.batchId
            dropped = sum(state.numRowsDroppedByWatermark for state in progress.stateOperators)
            warning = f"; the watermark dropped {dropped} late rows" if dropped else ""
            print(f"committed batch {last_batch_id}: {progress.numInputRows} rows{warning}", flush=True)


def _parse(job: Job, arguments: Sequence[str]) -> Options:
    program = f"python -m examples.alerts {job.name}"
    servers = os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "")
    options = arguments_of(
        Options,
        arguments,
        program=program,
        description=job.summary,
        example=f"KAFKA_BOOTSTRAP_SERVERS=127.0.0.1:9092 {program} --interval-seconds 60",
        fixed={"bootstrap_servers": servers},
    )
    if not servers:
        print(NO_SERVERS, file=sys.stderr)
        raise SystemExit(2)
    return options
