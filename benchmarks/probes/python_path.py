"""
Measure the cost of Python in a real-time query with state and timers.

Three queries do the same work one after another: a Scala processor and a Python processor in real-time mode, and the
same Python processor in micro-batch mode. Latency is the append time of a result minus that of its record,
by the broker's clock.
"""

import json
import os
import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from benchmarks.harness.benchmark import BenchmarkOptions, Outcome
from benchmarks.probes.counted import COUNTS, TIMER_MS, TTL_MS, Counted
from benchmarks.probes.probe import PARTITIONS, ProbeRun, latencies, outcome_of, probe_run, send_all, when_due
from benchmarks.spark.variants import COLLECTOR_OPTIONS, JAVA_OPTIONS_CONF, java_options
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.kafka.ticks import ticking
from spark_rtm.realtime import python_state
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services.scala import scala_object

KEYS = 500
SLOTS = 8
TICKS_TOPIC = "ticks"
BATCH_ROWS = 50_000
BATCHES = 6
DRAIN_SECONDS = 5
LATE_SECONDS = 60
"""Maximum time to wait for late results on a busy machine, beyond `DRAIN_SECONDS`."""
COUNTED_SCALA = Path(__file__).with_name("counted.scala")

Transform = Callable[[DataFrame, DataFrame], DataFrame]
PRESETS = {"quick": {"duration": 5, "warm_up": 5, "rounds": 1}}


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    duration: float = 15
    """Seconds of measured traffic per query and round, after the warm-up."""
    warm_up: float = 20
    """Seconds of traffic before the measured part."""
    rounds: int = 3
    """Number of measured rounds of each query in real-time mode. An earlier round warms up the JVM."""
    rate: float = 1_000
    """Records per second."""


def scala(rows: DataFrame, ticks: DataFrame) -> DataFrame:
    """Count with the Scala processor."""
    counted = scala_object(rows.sparkSession, COUNTED_SCALA, "counted.Counted")
    ticking_rows = python_state.with_ticks(rows, ["key"], ticks)
    return DataFrame(counted.of(ticking_rows._jdf, TIMER_MS, TTL_MS), rows.sparkSession)  # noqa: SLF001 - for Scala


REAL_TIME = {"realTime": "5 minutes"}
QUERIES: dict[str, tuple[Transform, dict[str, str]]] = {
    "scala": (scala, REAL_TIME),
    "python": (
        lambda rows, ticks: python_state.transform_with_state(rows, ["key"], Counted(), COUNTS, ticks),
        REAL_TIME,
    ),
    # A micro-batch fires its timers without ticks.
    "micro_batch": (
        lambda rows, _: rows.groupBy("key").transformWithState(Counted(), COUNTS, "update", "processingTime"),
        {"processingTime": "0 seconds"},
    ),
}


def measure(options: Options, console: Console) -> Outcome:
    """Return the latencies. Lost and repeated results are problems."""
    rounds: dict[str, list[list[int]]] = {name: [] for name in QUERIES}
    problems = list[str]()
    session: dict[str, Any] = {"slots": SLOTS, "shuffle_partitions": PARTITIONS}
    confs = {JAVA_OPTIONS_CONF: java_options(COLLECTOR_OPTIONS)}
    with probe_run("python-path", **session, confs=confs) as place, ticking(place.servers, TICKS_TOPIC):
        speeds = {name: rows_per_second(place.spark, QUERIES[name][0]) for name in ("scala", "python")}
        rounds["micro_batch"].append(_round(place, options, "micro_batch", problems))
        for number in range(options.rounds + 1):
            # The JVM gets faster with time, so every other round has the opposite order.
            for name in ("python", "scala") if number % 2 else ("scala", "python"):
                rounds[name].append(_round(place, options, name, problems))
    others: dict[str, Any] = {"rate": options.rate, "rounds": options.rounds, "nice": os.nice(0)}
    others |= {f"{name}_rows_per_second": speed for name, speed in speeds.items()}
    # The first round in real-time mode warms up the JVM.
    measured = {name: found[1:] or found for name, found in rounds.items()}
    for name, found in measured.items():
        console.print(name, [*map(latencies, found)], soft_wrap=True)
        for percentile in ("p50", "p99"):
            # A pause of the machine changes only one round, and not the median.
            values = (latencies(rows_ms)[percentile] for rows_ms in found)
            others[f"{name}_{percentile}_ms"] = statistics.median(values)
    rows_ms, expected = list(chain(*measured["python"])), int(options.rounds * options.rate * options.duration)
    return outcome_of(console, "python-path", rows_ms, expected, problems, **others)


def rows_per_second(spark: SparkSession, transform: Transform) -> int:
    """Run several batch queries to warm up the JVM, and return the rows per second of one task in the fastest query."""
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


def _round(place: ProbeRun, options: Options, name: str, problems: list[str]) -> list[int]:
    """Run one query on its own topics, and return the latencies of the measured rows in milliseconds."""
    topic, target = place.topics(name, f"{name}-counted")
    transform, trigger = QUERIES[name]
    rows = place.records(topic).select(
        F.col("key").cast("string"),
        F.col("value").cast("string").cast("long").alias("number"),
        F.unix_millis("timestamp").alias("appended_ts"),
    )
    results = transform(rows, place.records(TICKS_TOPIC, "latest"))
    total = int(options.rate * (options.warm_up + options.duration))
    records = ((n / options.rate, (topic, str(n), str(n % KEYS), n % PARTITIONS)) for n in range(total))
    with place.query(results.select("key", F.to_json(F.struct("*")).alias("value")), target, trigger) as query:
        send_all(place.servers, when_due(records), query, DRAIN_SECONDS)
        with suppress(TimeoutError):  # missing results are counted below
            wait_until(lambda: len(_results(place, target)) >= total, LATE_SECONDS, "the last results", [query])
    counts, rows_ms = dict[int, int](), list[int]()
    for row, answered_ms in _results(place, target):
        counts[row["number"]] = counts.get(row["number"], 0) + (row["count"] == row["number"] // KEYS + 1)
        if row["number"] >= options.rate * options.warm_up:
            rows_ms.append(answered_ms - row["appended_ts"])
    wrong = sum(counts.get(number, 0) != 1 for number in range(total))
    problems += [f"{wrong} of {total} records of {name!r} do not have exactly one correct result"] if wrong else []
    return rows_ms


def _results(place: ProbeRun, target: str) -> list[tuple[dict[str, Any], int]]:
    """Return the results of rows with their append times. The result of a timer has no number."""
    found = [(json.loads(m.value() or b""), m.timestamp()[1]) for m in read_topic(place.servers, target)]
    return [(row, answered_ms) for row, answered_ms in found if "number" in row]
