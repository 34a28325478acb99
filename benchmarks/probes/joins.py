"""
Measure the latency of a stream-stream join in OSS real-time mode.

Run the benchmark with `make bench-joins`.
Latency is the append time of a pair minus the append time of its second record. The program exits with status 1 after a
missing or a wrong pair.
"""

import json
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import BenchmarkOptions
from benchmarks.probes.probe import latency_text, machine_text, outcome_of, send_all, when_due
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.realtime.joins import TimeBound, inner_join
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import KAFKA_SINK
from spark_rtm.realtime.slots import preflight
from spark_rtm.services import kafka_broker, run_folder
from spark_rtm.services.spark import build_session

BOUND = TimeBound(within_seconds=60, lateness_seconds=60)
GAP_RECORDS = 200
"""Number of further impressions between an impression and its click."""


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    duration: float = 60
    """Seconds of measured records after the warm-up."""
    warm_up_seconds: float = 40
    """Seconds of records before the measurement."""
    rate: float = 200
    """Impressions per second, with one click each."""
    interval_seconds: int = 15
    """Trigger interval of real-time mode in seconds, at least 5."""
    partitions: int = 2
    """Number of partitions per topic."""


def start(spark: SparkSession, servers: str, topics: dict[str, int], checkpoint: Path, seconds: int) -> StreamingQuery:
    """Start a query that joins the first two topics into the third."""
    impressions, clicks, target = topics
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    left, right = (_side(source.option("subscribe", topic).load()) for topic in (impressions, clicks))
    rows = inner_join(left, right, BOUND).select("key", F.col("right.row").alias("value"))
    preflight(spark, {"joined": (rows, topics[impressions] + topics[clicks])})
    writer = rows.writeStream.format("kafka").options(**KAFKA_SINK, topic=target).outputMode("update")
    # rtm: ignore[checkpoint-path] a benchmark needs no state after its end
    writer = writer.option("kafka.bootstrap.servers", servers).option("checkpointLocation", str(checkpoint))
    query: StreamingQuery = writer.queryName("joined").trigger(realTime=f"{seconds} seconds").start()  # type: ignore[call-overload]
    assert_real_time(query)
    return query


def _side(records: DataFrame) -> DataFrame:
    event = F.from_json(F.col("value").cast("string"), "at_ms long")
    return records.select(
        F.col("key").cast("string"), F.timestamp_millis(event.at_ms).alias("at"), F.col("topic").alias("row")
    )


def latencies_ms(servers: str, topics: dict[str, int], first_number: int) -> tuple[list[int], int]:
    """Return the latency of each pair's first result from `first_number` on, and the number of missing pairs."""
    impressions, clicks, target = topics
    appended = [
        {_number(m.key()): m.timestamp()[1] for m in read_topic(servers, topic)} for topic in (impressions, clicks)
    ]
    written: dict[int, int] = {}
    for message in read_topic(servers, target):
        written.setdefault(_number(message.key()), message.timestamp()[1])
    expected = appended[0].keys() & appended[1].keys()
    if wrong := written.keys() - expected:
        raise RuntimeError(f"{len(wrong)} pairs were written that do not exist, for example {min(wrong)}")
    measured = [n for n in expected if n >= first_number]
    values = [written[n] - max(appended[0][n], appended[1][n]) for n in measured if n in written]
    return values, len(measured) - len(values)


def _number(key: bytes | None) -> int:
    return int(key or b"0")


def _send(servers: str, topics: dict[str, int], options: Options) -> None:
    impressions, clicks, _ = topics
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    records = int(options.rate * (options.warm_up_seconds + options.duration))
    for number in when_due((number / options.rate, number) for number in range(records)):
        value = json.dumps({"at_ms": int(time.time() * 1000)})
        producer.produce(impressions, value, str(number))
        if number >= GAP_RECORDS:
            producer.produce(clicks, value, str(number - GAP_RECORDS))
        producer.poll(0)
    producer.flush(30)


def measure(options: Options, console: Console) -> Outcome:
    """Print the latency of the pairs. A missing pair is a problem."""
    with kafka_broker() as servers, tempfile.TemporaryDirectory(dir=run_folder()) as folder:
        names = [f"{name}-{uuid.uuid4().hex[:8]}" for name in ("impressions", "clicks", "joined")]
        topics, spark = ensure_topics(servers, names, options.partitions), build_session("joins")
        try:
            query = start(spark, servers, topics, Path(folder), options.interval_seconds)
            console.print(f"measuring for {options.warm_up_seconds + options.duration:g} s ...")
            send_all(lambda: _send(servers, topics, options), query)
            values, missing = latencies_ms(servers, topics, int(options.rate * options.warm_up_seconds))
        finally:
            spark.stop()
    console.print(
        f"{len(values):,} pairs, {missing} missing; latency {latency_text(values)}; "
        f"{options.rate:g} impressions/s, one click each, interval {options.interval_seconds} s, {machine_text()}",
        soft_wrap=True,
    )
    problems = [f"{missing} pairs are missing"] if missing else []
    load = {"rate": options.rate, "interval_seconds": options.interval_seconds}
    return outcome_of("joins", values, len(values) + missing, problems, **load)


BENCHMARK = Benchmark(
    "joins",
    __doc__,
    Options,
    measure,
    example="--rate 200 --duration 60",
    presets={"quick": {"duration": 9, "warm_up_seconds": 12, "interval_seconds": 5}},
)
