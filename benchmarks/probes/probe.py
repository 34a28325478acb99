"""Code shared by the probes: timed sending, and one row of `probes.json` for each probe."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from confluent_kafka import KafkaException
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.harness.benchmark import PUBLISHED_DIR, Outcome
from spark_rtm.kafka.consumer import consumer_from_start, end_offsets
from spark_rtm.measure.machine import describe_machine
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.realtime.queries import raise_if_failed, wait_until

STEM = "probes"
DRAIN_SECONDS = 10
LEADER_SECONDS = 120.0
T = TypeVar("T")


def when_due(items: Iterable[tuple[float, T]]) -> Iterator[T]:
    """Yield each item at its time, in seconds after the first call."""
    start, pause = time.monotonic(), threading.Event()
    for seconds, item in items:
        pause.wait(max(0, start + seconds - time.monotonic()))
        yield item


def send_all(send: Callable[[], None], query: StreamingQuery, drain_seconds: float = DRAIN_SECONDS) -> None:
    """Send a probe's records in a thread, then wait until the query can have processed all of them."""
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    while sender.is_alive():
        raise_if_failed([query])
        sender.join(1)
    threading.Event().wait(drain_seconds)
    raise_if_failed([query])


def ends(servers: str, topic: str, partitions: int) -> dict[tuple[str, int], int]:
    """Return the end offset of each partition as soon as all partitions have leaders."""
    consumer, found = consumer_from_start(servers, {topic: partitions}), dict[tuple[str, int], int]()

    def is_known() -> bool:
        with suppress(KafkaException):  # a new partition has no leader for a moment
            found.update(end_offsets(consumer, consumer.assignment()))
        return bool(found)

    try:
        wait_until(is_known, LEADER_SECONDS, f"the offsets of topic {topic!r}")
    finally:
        consumer.close()
    return found


def latency_text(values_ms: Sequence[float]) -> str:
    """Return p50, p99 and maximum as text."""
    return ", ".join(f"{name} {value:g} ms" for name, value in _latency(values_ms).items())


def machine_text() -> str:
    """Return the number of cores and the load as text."""
    return f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"


def outcome_of(
    probe: str, values_ms: Sequence[float], expected: int, problems: Sequence[str], **others: Any
) -> Outcome:
    """Return a probe's row with the published rows of other probes."""
    latency = {f"{name}_ms": value for name, value in _latency(values_ms).items()}
    row = {"expected": expected, "found": len(values_ms), **latency, **others}
    return outcome_with(probe, row, problems)


def outcome_with(probe: str, row: Mapping[str, Any], problems: Sequence[str]) -> Outcome:
    """Return a probe's row as it is, with the published rows of other probes."""
    known = describe_machine()
    whole = {"probe": probe, "date": known.pop("date"), **row, "load_average": round(os.getloadavg()[0], 1)}
    path = PUBLISHED_DIR / f"{STEM}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["probes"] if path.is_file() else []
    rows = [*(one for one in rows if one["probe"] != probe), whole]
    content = {"conditions": known, "probes": sorted(rows, key=lambda one: str(one["probe"]))}
    return Outcome(STEM, content, problems)


def _latency(values_ms: Sequence[float]) -> dict[str, float]:
    return dict(zip(("p50", "p99", "max"), percentiles(values_ms or [0], (0.5, 0.99, 1)), strict=True))
