"""Shared code of the probes: sending, counting, and one row of `probes.json` for each probe."""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaException, Producer
from rich.console import Console

from benchmarks.harness.benchmark import PUBLISHED_DIR, Outcome
from spark_rtm.kafka.consumer import consumer_from_start, end_offsets
from spark_rtm.measure import percentiles
from spark_rtm.measure.cpu import describe_machine
from spark_rtm.realtime.queries import wait_until

STEM = "probes"
PARTITIONS = 2
MAX_QUEUED = 2_000_000
FLUSH_SECONDS = 60
LEADER_SECONDS = 120.0
SHARES = {"p50": 0.5, "p99": 0.99, "max": 1.0}
Record = tuple[Any, ...]
"""The arguments of `Producer.produce`: topic, value, key, and optionally partition and callback."""


def produce(servers: str, records: Iterable[Record]) -> None:
    """Send each record when the iterable yields it, and wait until the broker has stored all of them."""
    # Otherwise, a restart of the broker can write a record twice.
    confs = {"linger.ms": 0, "queue.buffering.max.messages": MAX_QUEUED, "enable.idempotence": True}
    producer = Producer({"bootstrap.servers": servers, **confs})
    for record in records:
        producer.produce(*record)
        producer.poll(0)
    producer.flush(FLUSH_SECONDS)


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
    Print a probe's row, and return it together with the published rows of the other probes.

    Fewer latencies than expected are reported as a problem.
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
