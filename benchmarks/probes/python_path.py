"""
Measure the cost of Python in a real-time query with state and timers.

Run the benchmark with `make bench-python-path`. Three queries do the same work one after another: a Scala processor and
a Python processor in real-time mode, and the same Python processor in micro-batch mode. Latency is the append time of a
result minus the append time of its record, by the broker's clock.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import BenchmarkOptions
from benchmarks.probes.counted import COUNTS, TIMER_MS, TTL_MS, Counted
from benchmarks.probes.probe import latency_text, machine_text, outcome_of, send_all, when_due
from benchmarks.spark.variants import COLLECTOR_OPTIONS, JAVA_OPTIONS_CONF, java_options
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.kafka.ticks import ticking
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.realtime import python_state
from spark_rtm.services import kafka_broker, run_folder
from spark_rtm.services.scala import scala_object
from spark_rtm.services.spark import build_session

PARTITIONS = 2
KEYS = 500
SLOTS = 8
TICKS_TOPIC = "ticks"
BATCH_ROWS = 50_000
BATCHES = 6
DRAIN_SECONDS = 5
COUNTED_SCALA = Path(__file__).with_name("counted.scala")

Transform = Callable[[DataFrame, DataFrame], DataFrame]


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    duration: float = 15
    """Seconds of measured records per query and round, after its warm-up."""
    warm_up: float = 20
    """Seconds of records before the measured ones."""
    rounds: int = 3
    """Number of measured rounds of each query in real-time mode; an earlier round warms up the JVM."""
    rate: float = 1_000
    """Records per second."""


@dataclass
class Found:
    """Latencies of one query per round, and the lateness of its timers."""

    rounds: list[list[int]] = field(default_factory=list)
    timers_ms: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def milliseconds(self) -> tuple[float, float]:
        """Return the medians of p50 and p99 over the rounds, because a pause of the machine changes only one round."""
        found = [percentiles(rows_ms, (0.5, 0.99)) for rows_ms in self.rounds]
        return statistics.median(p50 for p50, _ in found), statistics.median(p99 for _, p99 in found)

    def text(self) -> str:
        """Return the latency of each round as text."""
        return f"{' | '.join(map(latency_text, self.rounds))}; timers late {latency_text(self.timers_ms)}"


def scala(rows: DataFrame, ticks: DataFrame) -> DataFrame:
    """Count with the Scala processor."""
    counted = scala_object(rows.sparkSession, COUNTED_SCALA, "counted.Counted")
    ticking_rows = python_state.with_ticks(rows, ["key"], ticks)
    return DataFrame(counted.of(ticking_rows._jdf, TIMER_MS, TTL_MS), rows.sparkSession)  # noqa: SLF001 - for Scala


def python(rows: DataFrame, ticks: DataFrame) -> DataFrame:
    """Count with the Python processor in real-time mode."""
    return python_state.transform_with_state(rows, ["key"], Counted(), COUNTS, ticks)


def micro_batch(rows: DataFrame, ticks: DataFrame) -> DataFrame:  # noqa: ARG001 - a batch fires its timers
    """Count with the Python processor in micro-batch mode."""
    return rows.groupBy("key").transformWithState(Counted(), COUNTS, "update", "processingTime")


QUERIES: dict[str, tuple[Transform, dict[str, str]]] = {
    "scala": (scala, {"realTime": "5 minutes"}),
    "python": (python, {"realTime": "5 minutes"}),
    "micro_batch": (micro_batch, {"processingTime": "0 seconds"}),
}


def measure(options: Options, console: Console) -> Outcome:
    """Print the latencies. Lost and repeated results are problems."""
    found = {name: Found() for name in QUERIES}
    with ExitStack() as stack:
        servers = stack.enter_context(kafka_broker())
        stack.enter_context(ticking(servers, TICKS_TOPIC))
        confs = {JAVA_OPTIONS_CONF: java_options(COLLECTOR_OPTIONS)}
        spark = build_session("python-path", slots=SLOTS, shuffle_partitions=PARTITIONS, confs=confs)
        stack.callback(spark.stop)
        speeds = {name: rows_per_second(spark, QUERIES[name][0]) for name in ("scala", "python")}
        _run(spark, servers, options, "micro_batch", "micro_batch", found["micro_batch"])
        for round_number in range(options.rounds + 1):
            # The JVM gets faster with time, so every other round has the opposite order.
            for name in ("python", "scala") if round_number % 2 else ("scala", "python"):
                _run(spark, servers, options, name, f"{name}-{round_number}", found[name])
                if not round_number:
                    found[name].rounds.clear()
    for name, one in found.items():
        console.print(f"{name}: {one.text()}", soft_wrap=True)
    console.print(f"one state partition, rows per second: {speeds}; {options.rate:g} records/s, {machine_text()}")
    others: dict[str, Any] = {"rate": options.rate, "rounds": options.rounds}
    others |= {f"{name}_rows_per_second": speed for name, speed in speeds.items()}
    for name, one in found.items():
        others |= dict(zip((f"{name}_p50_ms", f"{name}_p99_ms"), one.milliseconds(), strict=True))
    problems = [problem for one in found.values() for problem in one.problems]
    rows_ms = [latency_ms for each in found["python"].rounds for latency_ms in each]
    return outcome_of("python-path", rows_ms, int(options.rounds * options.rate * options.duration), problems, **others)


def rows_per_second(spark: SparkSession, transform: Transform) -> int:
    """Return the rows per second of one task in the fastest of several batch queries, because the JVM warms up."""
    partitions = str(spark.conf.get("spark.sql.shuffle.partitions"))
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    rows = spark.range(BATCH_ROWS).select(
        (F.col("id") % KEYS).cast("string").alias("key"),
        F.col("id").alias("number"),
        F.lit(0).cast("long").alias("appended_ts"),
    )
    seconds = []
    for _ in range(BATCHES):
        started = time.monotonic()
        transform(rows, spark.range(0)).write.format("noop").mode("overwrite").save()
        seconds.append(time.monotonic() - started)
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    return round(BATCH_ROWS / min(seconds))


def _run(spark: SparkSession, servers: str, options: Options, name: str, topic: str, found: Found) -> None:
    """Run one query on its own topics, and add its measurements to `found`."""
    ensure_topics(servers, [topic, f"{topic}-counted"], PARTITIONS)
    transform, trigger = QUERIES[name]
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    ticks = source.option("subscribe", TICKS_TOPIC).load()
    arrivals = source.option("subscribe", topic).option("startingOffsets", "earliest").load()
    rows = arrivals.select(
        F.col("key").cast("string"),
        F.col("value").cast("string").cast("long").alias("number"),
        F.unix_millis("timestamp").alias("appended_ts"),
    )
    results = transform(rows, ticks).select("key", F.to_json(F.struct("*")).alias("value"))
    writer = results.writeStream.format("kafka").outputMode("update").queryName(topic)
    writer = writer.option("kafka.bootstrap.servers", servers).option("kafka.linger.ms", "0")
    with tempfile.TemporaryDirectory(dir=run_folder()) as folder:
        writer = writer.option("topic", f"{topic}-counted").option("checkpointLocation", folder)
        query = writer.trigger(**trigger).start()
        counted_from_ms = int((time.time() + options.warm_up) * 1000)
        total = int(options.rate * (options.warm_up + options.duration))
        try:
            send_all(lambda: _send(servers, topic, options.rate, total), query, DRAIN_SECONDS)
        finally:
            query.stop()
    _collect(servers, f"{topic}-counted", counted_from_ms, total, found)


def _send(servers: str, topic: str, rate: float, total: int) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    for number in when_due((number / rate, number) for number in range(total)):
        producer.produce(topic, str(number), key=str(number % KEYS), partition=number % PARTITIONS)
        producer.poll(0)
    producer.flush(30)


def _collect(servers: str, topic: str, counted_from_ms: int, total: int, found: Found) -> None:
    counts: dict[int, int] = {}
    rows_ms = list[int]()
    for message in read_topic(servers, topic):
        row, appended_ms = json.loads(message.value() or b""), message.timestamp()[1]
        if "number" in row:
            counts[row["number"]] = counts.get(row["number"], 0) + (row["count"] == row["number"] // KEYS + 1)
        if row["appended_ts"] >= counted_from_ms:
            (rows_ms if "number" in row else found.timers_ms).append(appended_ms - row["appended_ts"])
    found.rounds.append(rows_ms)
    wrong = sum(counts.get(number, 0) != 1 for number in range(total))
    if wrong:
        found.problems.append(f"{wrong} of {total} records of {topic!r} do not have exactly one right result")


BENCHMARK = Benchmark(
    "python-path",
    __doc__,
    Options,
    measure,
    example="--rate 1000 --duration 15",
    presets={"quick": {"duration": 5, "rounds": 1}},
)
