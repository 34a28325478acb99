"""
Compare asynchronous log purge and progress tracking with real-time mode, without Kafka.

As in the published comparison, generated rows go to a sink that stores their latency in a sketch. The latency of a row
is the time from when it is due until the sink receives it. The built-in source `rate` releases rows once per second and
does not support real-time mode, so this module defines a source that releases each row when it is due.
"""

import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from benchmarks.harness.benchmark import BenchmarkOptions, Outcome
from benchmarks.probes.probe import outcome_with
from benchmarks.probes.table import MIN_SHARE
from benchmarks.spark.variants import CHECKPOINT_MANAGER_CONF, DEFAULT_CONFS, FILE_SYSTEM_CONF
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import raise_if_failed
from spark_rtm.services import run_folder
from spark_rtm.services.scala import compiled
from spark_rtm.services.spark import build_session

SOURCE = "rate_to_stat.Provider"
SCALA = Path(__file__).with_suffix(".scala")
PURGE_CONF = "spark.sql.streaming.asyncLogPurge.enabled"
CONFS = {
    # Spark's defaults: the fast local file manager of other benchmarks would hide the cost of the logs.
    **{name: DEFAULT_CONFS[name] for name in (CHECKPOINT_MANAGER_CONF, FILE_SYSTEM_CONF)},
    # With the default of 100, a short run would purge nothing.
    "spark.sql.streaming.minBatchesToRetain": "10",
}
PARTITIONS = 2
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
ARMS: dict[str, dict[str, Any]] = {
    "none, built-in `rate`": {"source": "rate"},
    "none": {},
    "async purge": {"purge": True},
    "async progress": {"progress": True},
    "both": {"purge": True, "progress": True},
    "real-time mode": {"purge": True, "real_time": True},
}
"""The variants of the query, each with its arguments for `run_arm`."""
PRESETS = {"quick": {"duration": 3, "warm_up": 2, "rate": (10_000,)}}


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    duration: float = 10
    """Seconds of measured rows per variant and rate."""
    warm_up: float = 4
    """Seconds of rows before the measured ones."""
    rate: tuple[int, ...] = (10_000, 100_000, 500_000)
    """Rows per second (repeatable)."""


def measure(options: Options, console: Console) -> Outcome:
    """Print the latency of each variant at each rate. A variant that falls behind at the lowest rate is a problem."""
    rows: list[dict[str, Any]] = []
    spark = build_session("rate-to-stat", slots=4, confs={**CONFS, "spark.jars": str(compiled(SCALA))})
    try:
        run_arm(spark, options, options.rate[0])  # the JVM compiles the code
        for rate in options.rate:
            for name, arm in ARMS.items():
                if "source" not in arm or rate == options.rate[0]:
                    rows.append({"arm": name, "rate": rate, **run_arm(spark, options, rate, **arm)})
                    console.print(rows[-1])
    finally:
        spark.stop()
    slow = [row for row in rows if row["rate"] == options.rate[0] and row["share"] < MIN_SHARE]
    problems = [f"{row['arm']} wrote {row['share']:.0%} of its rows in time" for row in slow]
    return outcome_with(console, "rate-to-stat", {"duration_seconds": options.duration, "rows": rows}, problems)


def run_arm(
    spark: SparkSession,
    options: Options,
    rate: int,
    *,
    source: str = SOURCE,
    purge: bool = False,
    progress: bool = False,
    real_time: bool = False,
) -> dict[str, Any]:
    """Return a variant's latency in milliseconds, the share of rows written in time, and the number of batches."""
    stats = spark._jvm.rate_to_stat.Stats  # type: ignore[union-attr] # noqa: SLF001 - the sink is in Scala
    spark.conf.set(PURGE_CONF, str(purge).lower())
    now_us = int(time.time() * 1e6)
    reader = spark.readStream.format(source).option("rowsPerSecond", rate).option("numPartitions", PARTITIONS)
    rows = reader.option("originUs", now_us + 2_000_000).load()  # after the start of the first batch
    writer = rows.select(F.unix_micros("timestamp") if source == "rate" else "due_us").writeStream
    writer._jwrite.foreach(stats.writer())  # noqa: SLF001 - PySpark's own method takes only Python
    writer = writer.outputMode("update").option("asyncProgressTrackingEnabled", str(progress).lower())
    trigger = {"realTime": "5 minutes"} if real_time else {"processingTime": "0 seconds"}
    from_us = now_us + int((2 + options.warm_up) * 1e6)
    until_us = from_us + int(options.duration * 1e6)
    stats.measure(from_us, until_us)
    with tempfile.TemporaryDirectory(dir=run_folder()) as folder:
        query = writer.option("checkpointLocation", folder).trigger(**trigger).start()
        try:
            if real_time:
                assert_real_time(query)
            # The built-in source releases rows up to a second late.
            threading.Event().wait(until_us / 1e6 + 2 - time.time())
            raise_if_failed([query])
            batches = query.lastProgress["batchId"] if query.lastProgress and not real_time else 0
        finally:
            query.stop()
    count = stats.count()
    found = {f"{name}_ms": round(stats.quantileUs(share) / 1000) for name, share in SHARES.items()} if count else {}
    return {**found, "share": round(count / (rate * options.duration), 3), "batches": batches}
