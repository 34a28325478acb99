"""
Find the utilization at which a real-time query with state can absorb a burst.

Run the benchmark with `make bench-burst`. A query counts the records of each key, from Kafka to Kafka. The benchmark
first raises the rate until the query falls behind; utilization is a share of the last rate before that. Then it sends
records at this utilization, at a multiple of that rate during the burst, and at the utilization again. Latency is the
append time of a result minus the append time of its record, by the broker's clock. Sender, broker and engine share the
cores.
"""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from rich.console import Console

from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import BenchmarkOptions
from benchmarks.harness.rate_search import MAX_FINAL_MS
from benchmarks.probes.probe import machine_text, outcome_with, send_all, when_due
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import stop_completely
from spark_rtm.services import kafka_broker, run_folder
from spark_rtm.services.spark import build_session

PARTITIONS = 2
KEYS = 1_000
SLICE_SECONDS = 0.01
FACTOR, FIRST_RATE = 1.15, 3_000.0
STEP_SHARE = 0.6
"""Duration of a search step relative to a burst."""
HASHES = 1_000
"""Work per record. Without it, the query sustains more than the sender can send."""
MAX_PEAK_PERCENT = 200
MIN_NORMAL_MS = 50.0
"""Lowest limit of a normal second; the p99 of a quiet second is a few milliseconds."""
Times = npt.NDArray[np.int64]
Phase = tuple[float, float]
"""Seconds, and records per second."""


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    duration: float = 10
    """Duration in seconds of each burst, of the traffic before it, and of each search step."""
    after: float = 12
    """Seconds of records after a burst."""
    steps: int = 6
    """Maximum number of rates that the search tries."""
    utilization: tuple[int, ...] = (30, 50, 70, 90)
    """Share of the sustained rate in percent (repeatable)."""
    burst: tuple[int, ...] = (2, 3)
    """Multiple of the rate during a burst (repeatable). Bursts above twice the sustained rate are omitted."""


def measure(options: Options, console: Console) -> Outcome:
    """Print p99 before, during and after each burst, the backlog, and the seconds until the latency is normal again."""
    rows: list[dict[str, Any]] = []
    with ExitStack() as stack:
        servers = stack.enter_context(kafka_broker())
        spark = build_session("burst", slots=2 * PARTITIONS, shuffle_partitions=PARTITIONS)
        stack.callback(spark.stop)
        seconds, numbers = options.duration, count()
        rates = [round(FIRST_RATE * FACTOR**step) for step in range(options.steps)]
        run(spark, servers, f"warm-up-{next(numbers)}", [(seconds, FIRST_RATE)])
        step = STEP_SHARE * seconds
        found = run(spark, servers, f"search-{next(numbers)}", [(step, rate) for rate in rates])
        sustained = highest_sustained(*found, rates, step)
        console.print(f"sustained: {sustained} of {rates}")
        pairs = [(burst, percent) for burst in options.burst for percent in options.utilization]
        for burst, percent in (pair for pair in pairs if pair[0] * pair[1] <= MAX_PEAK_PERCENT):
            rate = sustained * percent / 100
            phases = [(seconds, rate), (seconds, burst * rate), (options.after, rate)]
            times = run(spark, servers, f"burst-{next(numbers)}", phases)
            rows.append({"utilization": percent, "burst": burst, "rate": rate, **digested(*times, options)})
            console.print(rows[-1])
    console.print(machine_text())
    problems = [f"records were sent {row['sent_late_seconds']} s late" for row in rows if row["sent_late_seconds"] > 1]
    if sustained == rates[-1]:
        problems.append(f"the query sustains all rates up to {sustained} records/s; raise --steps")
    return outcome_with("burst", {"sustained": sustained, "burst_seconds": seconds, "rows": rows}, problems)


def run(spark: SparkSession, servers: str, topic: str, phases: Sequence[Phase]) -> tuple[Times, Times]:
    """Send the phases to a new query, and return the append times (ms, 0: never) of each record and of its result."""
    ensure_topics(servers, [topic, f"{topic}-counted"], PARTITIONS)
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    records = source.option("subscribe", topic).option("startingOffsets", "earliest").load()
    rows = records.select(F.col("key").cast("string"), F.col("value").cast("string").cast("long").alias("number"))
    hashed = F.aggregate(F.sequence(F.lit(1), F.lit(HASHES)), F.col("key"), lambda text, _: F.sha2(text, 256))
    rows = rows.withColumn("hashed", hashed)
    counts = rows.groupBy("key").agg(*(F.max(name).alias(name) for name in ("number", "hashed")))
    results = counts.select("key", F.concat_ws(" ", "number", "hashed").alias("value"))
    writer = results.writeStream.format("kafka").outputMode("update").queryName(topic)
    writer = writer.option("kafka.bootstrap.servers", servers).option("kafka.linger.ms", "5")
    total = sum(round(rate * seconds) for seconds, rate in phases)
    with tempfile.TemporaryDirectory(dir=run_folder()) as folder:
        writer = writer.option("topic", f"{topic}-counted").option("checkpointLocation", folder)
        query = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
        try:
            assert_real_time(query)
            send_all(lambda: _send(servers, topic, phases), query, drain_seconds=2)
        finally:
            stop_completely(spark, query)
    return _append_times(servers, topic, total), _append_times(servers, f"{topic}-counted", total)


def _append_times(servers: str, topic: str, total: int) -> Times:
    times = np.zeros(total, dtype=np.int64)
    for message in read_topic(servers, topic):
        times[int((message.value() or b"").split()[0])] = message.timestamp()[1]
    return times


def _send(servers: str, topic: str, phases: Sequence[Phase]) -> None:
    begins = np.cumsum([1.0, *(seconds for seconds, _ in phases)])
    due = np.concatenate(
        [at + np.arange(round(s * rate)) / rate for at, (s, rate) in zip(begins, phases, strict=False)]
    )
    marks = np.arange(1.0, due[-1], SLICE_SECONDS)
    slices = np.split(np.arange(len(due)), np.searchsorted(due, marks[1:]))
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 2, "queue.buffering.max.messages": 1_000_000})
    for numbers in when_due(zip(marks, slices, strict=True)):
        for number in numbers.tolist():
            producer.produce(topic, str(number), key=str(number % KEYS), partition=number % PARTITIONS)
        producer.poll(0)
    producer.flush(30)


def digested(appended: Times, answered: Times, options: Options) -> dict[str, Any]:
    """Return p99 before, during and after a burst, and the seconds from its end until p99 is normal, or None."""
    start_ms, end_ms = int(appended[0]), max(int(appended.max()), int(answered.max())) + 1
    due = (appended - start_ms) // 1000
    # A record without a result waits at least until the end.
    waits = np.where(answered > 0, answered, end_ms) - appended
    seconds = int(2 * options.duration + options.after)
    p99 = [max(percentiles(waits[due == second], [0.99]), default=0.0) for second in range(seconds)]
    marks = start_ms + 1000 * np.arange(1, seconds + 1)
    results = np.searchsorted(np.sort(answered[answered > 0]), marks)
    first, end = int(options.duration), int(2 * options.duration)
    normal_ms = float(np.median(p99[first // 2 : first]))
    late = [second for second in range(end, seconds) if p99[second] > max(MIN_NORMAL_MS, 2 * normal_ms)]
    recovered = late[-1] + 1 - end if late else 0
    return {
        "sent_late_seconds": round((int(appended.max()) - start_ms) / 1000 - seconds, 1),
        "normal_p99_ms": round(normal_ms),
        "burst_p99_ms": round(percentiles(waits[(due >= first) & (due < end)], [0.99])[0]),
        "max_ms": int(waits[due >= first].max()),
        "max_backlog": int((np.searchsorted(np.sort(appended), marks) - results)[first:].max()),
        "seconds": recovered if recovered < options.after else None,
    }


def highest_sustained(appended: Times, answered: Times, rates: Sequence[int], seconds: float) -> int:
    """Return the last rate before the first one at which the final median latency exceeds `MAX_FINAL_MS`."""
    begin = 0
    for number, rate in enumerate(rates):
        begin += round(rate * seconds)
        part = slice(begin - round(rate * seconds / 4), begin)
        waits = np.where(answered[part] > 0, answered[part] - appended[part], 2 * MAX_FINAL_MS)
        if np.median(waits) > MAX_FINAL_MS:
            return rates[max(0, number - 1)]
    return rates[-1]


BENCHMARK = Benchmark(
    "burst",
    __doc__,
    Options,
    measure,
    example="--utilization 50 --burst 2",
    presets={"quick": {"duration": 4, "after": 6, "utilization": (50,), "burst": (2,)}},
)
