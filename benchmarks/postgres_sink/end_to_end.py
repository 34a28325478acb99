"""
Measure the time from a result in Kafka to its row: consumer, micro-batch query and real-time query.

Real-time mode of OSS 4.3.0 collects rows before it passes them to Python, which causes the measured delay.
"""

# rtm: file-ignore[foreach-interval] the benchmark measures how late the rows are

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from confluent_kafka import Message, Producer
from psycopg.conninfo import conninfo_to_dict
from pyspark.sql import SparkSession

from examples.attribution.attributed_table import create_tables, results_of, results_sink, results_table
from examples.attribution.attributed_to_postgres import attributed_to_postgres
from examples.attribution.correlation.rule import Result
from examples.attribution.settings import DemoSettings, Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC, create_topics
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services import LocalPostgres, run_folder

WARM_UP_SECONDS = 10
INTERVAL_SECONDS = 15
DRAIN_SECONDS = 60


@dataclass(frozen=True)
class PathLatency:
    """Latency from a result's append in Kafka to the commit of its row in PostgreSQL."""

    path: str
    rate: float
    rows: int
    p50_ms: float
    p99_ms: float
    max_ms: float


def measure_path(
    spark: SparkSession, kafka: str, server: LocalPostgres, path: str, rate: float, seconds: float
) -> PathLatency:
    """Warm up, send results at `rate` per second for `seconds`, and return the latency. `path` is one of `PATHS`."""
    settings = replace(DemoSettings(), topic_prefix=f"bench-{uuid.uuid4().hex[:8]}.")
    create_topics(kafka, settings.topic_prefix, settings.partitions)
    create_tables(server.dsn, settings)
    with (
        TemporaryDirectory(prefix="checkpoint-", dir=run_folder()) as folder,
        PATHS[path](spark, kafka, server.dsn, settings, folder),
    ):
        appended_ms = send(kafka, settings, rate, WARM_UP_SECONDS + seconds)
        wait_until(partial(_has_all, server.dsn, settings, len(appended_ms)), DRAIN_SECONDS, "the last rows")
    measured_from_ms = min(appended_ms.values()) + 1000 * WARM_UP_SECONDS
    committed_ms = commit_times_ms(server.dsn, settings)
    waits_ms = [committed_ms[key] - at_ms for key, at_ms in appended_ms.items() if at_ms >= measured_from_ms]
    p50_ms, p99_ms, max_ms = (round(value, 1) for value in percentiles(waits_ms or [0], (0.5, 0.99, 1)))
    return PathLatency(path, rate, len(waits_ms), p50_ms, p99_ms, max_ms)


@contextmanager
def consumer(_spark: SparkSession, kafka: str, dsn: str, settings: Settings, _folder: str) -> Iterator[None]:
    """Run the pipeline's consumer, outside a Spark query."""
    with attributed_to_postgres(kafka, dsn, settings):
        yield


@contextmanager
def micro_batch(spark: SparkSession, kafka: str, dsn: str, settings: Settings, folder: str) -> Iterator[None]:
    """Run a micro-batch query that starts each batch immediately after the previous batch."""
    with _query(spark, kafka, dsn, settings, folder, processingTime="0 seconds"):
        yield


@contextmanager
def real_time(spark: SparkSession, kafka: str, dsn: str, settings: Settings, folder: str) -> Iterator[None]:
    """Run a real-time query with the PostgreSQL sink."""
    with _query(spark, kafka, dsn, settings, folder, realTime=f"{INTERVAL_SECONDS} seconds"):
        yield


@contextmanager
def _query(
    spark: SparkSession, kafka: str, dsn: str, settings: Settings, folder: str, **trigger: str
) -> Iterator[None]:
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka)
    records = source.option("subscribe", settings.topic(ATTRIBUTED_TOPIC)).option("startingOffsets", "earliest").load()
    sink = results_sink(dict(conninfo_to_dict(dsn)), settings)
    writer = results_of(records).writeStream.foreach(sink).outputMode("update").trigger(**trigger)
    query = writer.option("checkpointLocation", str(Path(folder) / "checkpoint")).start()
    try:
        yield
    finally:
        query.stop()


PATHS: dict[str, Callable[[SparkSession, str, str, Settings, str], AbstractContextManager[None]]] = {
    "consumer alongside the query": consumer,
    "foreach, micro-batch": micro_batch,
    f"foreach, real-time, batches of {INTERVAL_SECONDS} s": real_time,
}


def send(kafka: str, settings: Settings, rate: float, seconds: float) -> dict[str, int]:
    """Send results at their due times, and return each append time by key, in UTC milliseconds."""
    appended_ms: dict[str, int] = {}

    def on_delivery(error: object, message: Message) -> None:
        if error:
            raise RuntimeError(f"the broker rejected a result, so this measurement is invalid: {error}")
        appended_ms[(message.key() or b"").decode()] = message.timestamp()[1]

    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})
    started_at, pause, template = time.monotonic(), threading.Event(), _result()
    for number in range(int(rate * seconds)):
        pause.wait(max(0, started_at + number / rate - time.monotonic()))
        value = json.dumps({**template, "result_id": str(number)}).encode()
        producer.produce(settings.topic(ATTRIBUTED_TOPIC), value, key=str(number), on_delivery=on_delivery)
        producer.poll(0)
    producer.flush(30)
    return appended_ms


def enable_commit_times(server: LocalPostgres) -> None:
    """Make the server store commit times, and restart it."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("alter system set track_commit_timestamp = on")
    server.stop()
    server.start()


def commit_times_ms(dsn: str, settings: Settings) -> dict[str, float]:
    """Return the commit time of each row by key, in UTC milliseconds."""
    query = (
        f"select result_id, extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000 from {results_table(settings)}"
    )
    with psycopg.connect(dsn) as connection:
        return {key: float(at_ms) for key, at_ms in connection.execute(query.encode())}


def _has_all(dsn: str, settings: Settings, expected: int) -> bool:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(f"select count(*) from {results_table(settings)}".encode()).fetchall()
    return rows == [(expected,)]


def _result() -> dict[str, Any]:
    text = {"kind": "impression", "code": "matched", "transaction_id": "t" * 16, "campaign_id": "campaign-1"}
    times = {"version": 2, "request_ts": 1, "effective_ts": 1, "appended_at": 1}
    return asdict(Result(result_id="", src="topic:0:1", clock_skew=False, **text, **times))  # type: ignore[arg-type]
