"""
Start the queries of a run in a session, in any of Spark's modes.

A session, a run and options arrive; running queries leave.
Real-time mode demands a slot for every task at once, and each copy of a query asks for its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.benchmarks.harness.engine import Run
from examples.benchmarks.harness.workloads import Work
from examples.benchmarks.spark.workloads import answers
from examples.realtime.slots import assert_real_time, preflight

SHORT_INTERVALS = {"spark.sql.streaming.realTimeMode.minBatchDuration": "1s"}
"""A run needs several batch boundaries, and Spark refuses intervals below five seconds unless it is told."""

Mode = Literal["micro-batch", "async progress", "continuous", "real-time"]


@dataclass(frozen=True)
class SparkOptions:
    """How Spark does the work."""

    mode: Mode
    interval_seconds: float = 30
    """Trigger interval of real-time mode; continuous mode has epochs of one second, the others none."""
    copies: int = 1
    """Copies of the query, each with a checkpoint of its own."""
    shuffle_partitions: int = 2
    slots: int = 8
    """Task slots on this machine, the same for every mode."""
    confs: Mapping[str, str] = field(default_factory=dict)
    """Settings of the session, besides those of `spark_session.py`."""
    source: Mapping[str, str] = field(default_factory=dict)
    """Options of the Kafka source."""
    sink: Mapping[str, str] = field(default_factory=lambda: {"kafka.linger.ms": "0"})
    """Options of the Kafka sink."""
    warm_up_batches: int = 0
    """Empty batches in real-time mode before the first record."""
    checkpoints: str = ""
    """Folder of the checkpoints; empty is the folder of the run."""

    def checkpoint(self, run: Run) -> Path:
        """Return the folder below which the queries of a run have their checkpoints."""
        return Path(self.checkpoints or run.folder) / f"checkpoints-{run.source}"

    def intervals(self, work: Work) -> dict[str, float]:
        """Return the trigger interval of each query by its name."""
        hops = ("hop_0", "hop_1") if work == "two hops" else ("copy",)
        return {f"{hop}_{copy}": self.interval_seconds for copy in range(self.copies) for hop in hops}


def start_queries(spark: SparkSession, options: SparkOptions, run: Run, copy: int = 0) -> list[StreamingQuery]:
    """Start the queries of one copy and return when they run, in real-time mode if that is asked for."""
    intervals = {name: value for name, value in options.intervals(run.work).items() if name.endswith(f"_{copy}")}
    streams = {name: _stream(spark, options, run, name) for name in intervals}
    preflight(spark, {name: (stream, run.partitions) for name, stream in streams.items()})
    queries = list[StreamingQuery]()
    for name, interval_seconds in intervals.items():
        queries.append(_start(streams[name], options, run, name, interval_seconds))
        if options.mode == "real-time":
            assert_real_time(queries[-1])
    return queries


def trigger_interval(seconds: float) -> str:
    """Return an interval as triggers of real-time mode take it."""
    return f"{seconds * 1000:.0f} milliseconds"


def _stream(spark: SparkSession, options: SparkOptions, run: Run, name: str) -> DataFrame:
    hop = run
    if name.startswith("hop_0"):
        hop = replace(run, work="stateless", target=run.middle)
    elif name.startswith("hop_1"):
        hop = replace(run, work="stateful", source=run.middle)
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", run.bootstrap_servers)
    source = source.options(**options.source)
    return answers(source.options(subscribe=hop.source, startingOffsets="earliest").load(), hop)


def _start(stream: DataFrame, options: SparkOptions, run: Run, name: str, interval_seconds: float) -> StreamingQuery:
    writer = stream.writeStream.format("kafka").options(**options.sink).queryName(name).outputMode("update")
    writer = writer.option("kafka.bootstrap.servers", run.bootstrap_servers)
    writer = writer.option("checkpointLocation", str(options.checkpoint(run) / name))
    if options.mode == "real-time":
        # The keyword is missing in the type hints of PySpark 4.3.0.
        writer = writer.trigger(realTime=trigger_interval(interval_seconds))  # type: ignore[call-overload]
    elif options.mode == "continuous":
        writer = writer.trigger(continuous="1 second")
    else:
        is_async = options.mode == "async progress"
        writer = writer.option("asyncProgressTrackingEnabled", is_async).trigger(processingTime="0 seconds")
    return writer.start()
