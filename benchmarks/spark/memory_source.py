"""
Measure Spark without Kafka: add records to a memory source, and measure when a statistic counts each record.

Real-time mode of OSS 4.3.0 rejects the `rate` source, so both modes read from the memory source of Spark's own tests.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.results.record_times import Times, Traffic
from benchmarks.spark.queries import trigger_interval
from spark_rtm.measure.percentiles import percentiles_ms
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import raise_if_failed, wait_until
from spark_rtm.services import run_folder
from spark_rtm.services.scala import scala_object

SCALA = Path(__file__).with_suffix(".scala")
KEYS = 100

Mode = Literal["micro-batch", "real-time"]


@dataclass(frozen=True)
class MemoryRun:
    """One run without Kafka."""

    mode: Mode
    traffic: Traffic
    interval_seconds: float
    """Trigger interval of real-time mode."""
    partitions: int
    """Number of partitions of the memory source."""


def measure(spark: SparkSession, run: MemoryRun) -> dict[str, Any]:
    """Execute one run and return its results. The latency of a record ends when a statistic counts the record."""
    traffic, count = run.traffic, run.traffic.records
    with tempfile.TemporaryDirectory(prefix="bench-", dir=run_folder()) as folder:
        outputs = Path(folder, "outputs")
        outputs.mkdir()
        engine = scala_object(spark, SCALA, "benchmarks.MemorySource")
        source = engine.source(spark._jsparkSession, run.partitions)  # noqa: SLF001 - the class has no Python API
        records = DataFrame(source.toDF(), spark)
        with _running(spark, engine, statistics_of(records), run, folder) as query:
            first_us = engine.send(source, float(traffic.rate), count)
            # The last statistic of each key counts the last record of that key.
            wait_until(
                lambda: _is_complete(_read(outputs), count), traffic.drain_seconds, "the last statistics", [query]
            )
            raise_if_failed([query])
        statistics = _read(outputs)
    counted_us, wrong = counting_times(statistics, count)
    due_us = first_us + (np.arange(count) * 1e6 / traffic.rate).astype(np.int64)
    measured = (due_us >= first_us + traffic.warm_up_seconds * 1e6) & (counted_us > 0)
    return {
        "engine": run.mode,
        "rate": traffic.rate,
        **{f"{name}_ms": ms for name, ms in percentiles_ms((counted_us - due_us)[measured]).items()},
        "outputs_per_record": round(len(statistics) / count, 3),
        "missing": int((counted_us == 0).sum()),
        "wrong": wrong,
    }


def statistics_of(records: DataFrame) -> DataFrame:
    """Return, for each key, the number of the newest record and the record count. The input column is `value`."""
    return records.groupBy((F.col("value") % KEYS).alias("key")).agg(F.max("value"), F.count("*")).drop("key")


def counting_times(statistics: Times, count: int) -> tuple[Times, int]:
    """
    Return the time when a statistic first counted each record (0 if never), and the number of wrong statistics.

    `statistics` has three columns: number of the newest record, record count, and time in microseconds since 1970.
    """
    counted_us = np.zeros(count, dtype=np.int64)
    for newest, _, at_us in statistics[np.argsort(statistics[:, 2], kind="stable")]:
        number = newest
        while number >= 0 and not counted_us[number]:
            counted_us[number] = at_us
            number -= KEYS
    return counted_us, int((statistics[:, 0] // KEYS + 1 != statistics[:, 1]).sum())


@contextmanager
def _running(
    spark: SparkSession, engine: Any, statistics: DataFrame, run: MemoryRun, folder: str
) -> Iterator[StreamingQuery]:
    jvm: Any = spark._jvm  # noqa: SLF001 - only the JVM can start its ForeachWriter
    triggers, interval = jvm.org.apache.spark.sql.streaming.Trigger, trigger_interval(run.interval_seconds)
    trigger = triggers.RealTime(interval) if run.mode == "real-time" else triggers.ProcessingTime("0 seconds")
    query = StreamingQuery(engine.start(statistics._jdf, trigger, f"{folder}/checkpoint", f"{folder}/outputs"))  # noqa: SLF001
    try:
        if run.mode == "real-time":
            assert_real_time(query)
        yield query
    finally:
        query.stop()


def _read(outputs: Path) -> Times:
    lines = "".join(path.read_text() for path in outputs.iterdir())
    return np.array(lines.split(), dtype=np.int64).reshape(-1, 3)


def _is_complete(statistics: Times, count: int) -> bool:
    newest = statistics[:, 0]
    return len(set(newest[newest >= count - KEYS])) == min(KEYS, count)
