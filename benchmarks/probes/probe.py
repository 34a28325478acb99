"""Shared code of the probes: broker, session, timed sending, and one row of `probes.json` for each probe."""

import json
import os
import tempfile
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import KafkaException, Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from benchmarks.harness.benchmark import PUBLISHED_DIR, Outcome
from spark_rtm.kafka.consumer import consumer_from_start, end_offsets
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.measure import percentiles
from spark_rtm.measure.cpu import describe_machine
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import KAFKA_SINK, raise_if_failed, stop_completely, wait_until
from spark_rtm.services import kafka_broker, run_folder
from spark_rtm.services.spark import build_session

STEM = "probes"
PARTITIONS = 2
MAX_QUEUED = 2_000_000
FLUSH_SECONDS = 60
LEADER_SECONDS = 120.0
SHARES = {"p50": 0.5, "p99": 0.99, "max": 1.0}
T = TypeVar("T")
Record = tuple[Any, ...]
"""The arguments of `Producer.produce`: topic, value, key, and optionally partition and callback."""


@dataclass(frozen=True)
class ProbeRun:
    """A broker, a session, and a folder that is empty at the start."""

    servers: str
    spark: SparkSession
    folder: Path

    def topics(self, *names: str) -> list[str]:
        """Create topics whose names have a random suffix, and return their names in the given order."""
        return [*ensure_topics(self.servers, [f"{name}-{uuid.uuid4().hex[:8]}" for name in names], PARTITIONS)]

    def records(self, topic: str, starting: str = "earliest") -> DataFrame:
        """Return the stream of a topic's records."""
        kafka = {"kafka.bootstrap.servers": self.servers, "subscribe": topic, "startingOffsets": starting}
        return self.spark.readStream.format("kafka").options(**kafka).load()

    @contextmanager
    def query(self, rows: DataFrame, target: str, trigger: Mapping[str, str]) -> Iterator[StreamingQuery]:
        """Run a query that is named after its target topic, and stop it completely at the end of the block."""
        kafka = {**KAFKA_SINK, "kafka.bootstrap.servers": self.servers, "kafka.linger.ms": "0"}
        writer = rows.writeStream.format("kafka").options(**kafka, topic=target).queryName(target).outputMode("update")
        # rtm: ignore[checkpoint-path] a benchmark needs no state after its end
        query = writer.option("checkpointLocation", str(self.folder / target)).trigger(**trigger).start()
        try:
            if "realTime" in trigger:
                assert_real_time(query)
            yield query
        finally:
            stop_completely(self.spark, query)


@contextmanager
def probe_run(name: str, **session: Any) -> Iterator[ProbeRun]:
    """Start a broker and a session with these arguments of `build_session`, and stop both at the end of the block."""
    with kafka_broker() as servers, tempfile.TemporaryDirectory(dir=run_folder()) as folder:
        spark = build_session(name, **session)
        try:
            yield ProbeRun(servers, spark, Path(folder))
        finally:
            spark.stop()


def when_due(items: Iterable[tuple[float, T]]) -> Iterator[T]:
    """Yield each item at its time (seconds after the iteration starts)."""
    start, pause = time.monotonic(), threading.Event()
    for seconds, item in items:
        if (ahead := start + seconds - time.monotonic()) > 0:
            pause.wait(ahead)
        yield item


def produce(servers: str, records: Iterable[Record]) -> None:
    """Send each record when the iterable yields it, and wait until the broker has stored all of them."""
    # Otherwise, a restart of the broker can write a record twice.
    confs = {"linger.ms": 0, "queue.buffering.max.messages": MAX_QUEUED, "enable.idempotence": True}
    producer = Producer({"bootstrap.servers": servers, **confs})
    for record in records:
        producer.produce(*record)
        producer.poll(0)
    producer.flush(FLUSH_SECONDS)


def send_all(servers: str, records: Iterable[Record], query: StreamingQuery, drain_seconds: float) -> None:
    """Send records in a thread, and wait `drain_seconds` after the last one. Raise the error of a failed query."""
    sender = threading.Thread(target=produce, args=(servers, records), daemon=True)
    sender.start()
    while sender.is_alive():
        raise_if_failed([query])
        sender.join(1)
    threading.Event().wait(drain_seconds)
    raise_if_failed([query])


def written(servers: str, topic: str) -> int:
    """Return the number of records in a topic as soon as all partitions have leaders."""
    consumer, ends = consumer_from_start(servers, {topic: PARTITIONS}), dict[tuple[str, int], int]()

    def is_known() -> bool:
        with suppress(KafkaException):  # a new partition has no leader for a moment
            ends.update(end_offsets(consumer, consumer.assignment()))
        return bool(ends)

    try:
        wait_until(is_known, LEADER_SECONDS, f"the offsets of topic {topic!r}")
    finally:
        consumer.close()
    return sum(ends.values())


def latencies(values_ms: Sequence[float]) -> dict[str, float]:
    """Return percentiles by name, or zeros if there are no values."""
    return dict(zip(SHARES, percentiles(values_ms or [0], SHARES.values()), strict=True))


def outcome_of(
    console: Console, probe: str, values_ms: Sequence[float], expected: int, problems: Sequence[str], **others: Any
) -> Outcome:
    """
    Print the row of a probe, and return it together with the published rows of the other probes.

    Fewer latencies than expected are a problem.
    """
    missing = expected - len(values_ms)
    found = {f"{name}_ms": value for name, value in latencies(values_ms).items()}
    known, load = describe_machine(), round(os.getloadavg()[0], 1)
    counts = {"expected": expected, "found": len(values_ms)}
    row = {"probe": probe, "date": known.pop("date"), **counts, **found, **others, "load_average": load}
    console.print(row)
    path = PUBLISHED_DIR / f"{STEM}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["probes"] if path.is_file() else []
    rows = [*(one for one in rows if one["probe"] != probe), row]
    content = {"conditions": known, "probes": sorted(rows, key=lambda one: str(one["probe"]))}
    return Outcome(STEM, content, [*([f"{missing} results are missing"] if missing > 0 else []), *problems])
