"""
Watch a real-time query's topics from outside, and export lag, latency and rejects as Prometheus metrics.

A canary is a test record that is sent to each source partition at a fixed interval. Canaries reveal faults that the
engine's metrics do not show during a batch: a starved partition, a stuck task, a failed query.

Each record of the target and reject topics needs two headers: `src`, the source record's position as
`topic:partition:offset`, and `appended_ms`, the source record's append time. All topics must store append times.
Records without these times are counted as `unmeasured`.
"""

import re
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge

from spark_rtm.kafka.consumer import CLIENT, CONSUMER, end_offsets, is_record
from spark_rtm.kafka.continuity import is_temporary
from spark_rtm.measure import percentiles

MAX_MESSAGES = 1_000
POLL_SECONDS = 0.1
# While no broker responds, each metrics update takes this long.
TIMEOUT_SECONDS = 3
POSITION = re.compile(rb"(?P<topic>[\w.-]+):(?P<partition>[0-9]{1,9}):(?P<offset>[0-9]{1,19})")
MILLISECONDS = re.compile(rb"[0-9]{1,15}")
FLUSH_SECONDS = 2
PREFIX = "canary-"
"""Prefix of canary keys. Exclude records with canary keys from statistics and billing."""
QUANTILES = {"0.5": 0.5, "0.99": 0.99, "1": 1.0}


@dataclass
class TopicWatcher:
    """A watcher that reads the target and reject topics from their end on the first connection. Not thread-safe."""

    bootstrap_servers: str
    source: str
    target: str
    rejects: str
    window_seconds: float = 60
    """Length of the window for latencies and the reject share."""
    registry: CollectorRegistry = REGISTRY
    client: Mapping[str, object] = field(default_factory=dict, repr=False)
    """Other client options, such as a login."""

    def __post_init__(self) -> None:
        """Register the metrics, and assign the partitions if a broker responds."""
        registry = self.registry
        self._records = Counter("realtime_records", "Results and rejected records", ["outcome"], registry=registry)
        self._share = Gauge("realtime_reject_share", "Share of rejected records in the window", registry=registry)
        self._lag = Gauge("realtime_partition_lag", "Source records without a result", ["partition"], registry=registry)
        self._latency = Gauge(
            "realtime_latency_seconds", "Latency from append to append in the window", ["quantile"], registry=registry
        )
        for outcome in ("result", "rejected", "unmeasured"):
            self._records.labels(outcome).inc(0)
        self._seen: deque[tuple[float, float | None, bool]] = deque()
        self._next: dict[int, int] = {}
        self._positions: list[tuple[int, int]] = []
        self.is_connected = False
        self._consumer = Consumer(
            {**CONSUMER, "bootstrap.servers": self.bootstrap_servers, "log_level": 2, **self.client}
        )
        self._connect()

    def poll(self) -> list[Message]:
        """Read new records, update the metrics, and return the records."""
        if not self.is_connected:
            self._connect()
            return []
        messages = [m for m in self._consumer.consume(MAX_MESSAGES, POLL_SECONDS) if is_record(m)]
        for message in messages:
            self._observe(message)
        self._update()
        return messages

    def _connect(self) -> None:
        try:
            ends = end_offsets(self._consumer, [*self._partitions(self.target), *self._partitions(self.rejects)])
            self._next = self._source_ends()
        except KafkaException as error:
            if not is_temporary(error):
                raise
            return
        self._consumer.assign([TopicPartition(topic, number, end) for (topic, number), end in ends.items()])
        self.is_connected = True

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()

    def _observe(self, message: Message) -> None:
        found: Any = message.headers() or []
        headers: dict[str, bytes] = {name: value or b"" for name, value in found}
        is_rejected = message.topic() == self.rejects
        clock, appended_ms = message.timestamp()
        started_ms = MILLISECONDS.fullmatch(headers.get("appended_ms", b""))
        is_measured = clock == TIMESTAMP_LOG_APPEND_TIME and started_ms
        wait = (appended_ms - int(started_ms[0])) / 1000 if started_ms and is_measured else None
        outcome = "unmeasured" if wait is None else "rejected" if is_rejected else "result"
        self._records.labels(outcome).inc()
        self._seen.append((time.monotonic(), wait, is_rejected))
        position = POSITION.fullmatch(headers.get("src", b""))
        if position and position["topic"].decode() == self.source:
            self._positions.append((int(position["partition"]), int(position["offset"])))

    def _update(self) -> None:
        oldest = time.monotonic() - self.window_seconds
        while self._seen and self._seen[0][0] < oldest:
            self._seen.popleft()
        rejected = sum(is_rejected for _, _, is_rejected in self._seen)
        self._share.set(rejected / len(self._seen) if self._seen else 0)
        waits = [wait for _, wait, _ in self._seen if wait is not None] or [0.0]
        for name, value in zip(QUANTILES, percentiles(waits, QUANTILES.values()), strict=True):
            self._latency.labels(name).set(value)
        try:
            ends = self._source_ends()
        except KafkaException as error:
            if not is_temporary(error):
                raise
            # The lag keeps its last value while no broker responds. The canaries show the outage.
            return
        for number, offset in self._positions:
            # A position beyond the end of the topic is invalid, and would hide the lag.
            if offset < ends.get(number, 0):
                self._next[number] = max(self._next.get(number, 0), offset + 1)
        self._positions.clear()
        for number, end in ends.items():
            self._lag.labels(str(number)).set(max(0, end - self._next.get(number, 0)))

    def _source_ends(self) -> dict[int, int]:
        return {number: end for (_, number), end in end_offsets(self._consumer, self._partitions(self.source)).items()}

    def _partitions(self, topic: str) -> list[TopicPartition]:
        found = self._consumer.list_topics(topic, TIMEOUT_SECONDS).topics[topic]
        if found.error:
            raise KafkaException(found.error)
        return [TopicPartition(topic, number) for number in found.partitions]


@dataclass
class Canary:
    """The canaries of one source topic. Only one thread at a time may use a canary."""

    bootstrap_servers: str
    topic: str
    partitions: int
    value: Callable[[str], bytes]
    """Returns a valid record value for a canary key."""
    interval_seconds: float = 1
    registry: CollectorRegistry = REGISTRY
    client: Mapping[str, object] = field(default_factory=dict, repr=False)
    """Other client options, such as a login."""
    max_age_seconds: float = 600
    """Age at which a canary without a result is considered lost, for example because Kafka deleted the record."""

    def __post_init__(self) -> None:
        self._missing = Gauge(
            "realtime_canary_missing_seconds",
            "Age of the oldest canary whose result has not arrived",
            ["partition"],
            registry=self.registry,
        )
        self._lost = Counter(
            "realtime_canaries_lost", "Canaries that were not delivered or are too old", registry=self.registry
        )
        # The metric shows an outage, so the client does not log each failed attempt.
        options = {"bootstrap.servers": self.bootstrap_servers, "linger.ms": 0, "log_level": 2, **self.client}
        self._producer = Producer({**CLIENT, **options})
        self._run = uuid.uuid4().hex[:8]
        self._sent: dict[str, tuple[int, float]] = {}
        self._due = 0.0

    def send_if_due(self) -> None:
        """Send one canary to each partition if the interval has passed."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + self.interval_seconds
            for partition in range(self.partitions):
                key = f"{PREFIX}{self._run}-{partition}-{len(self._sent)}-{now:.3f}"
                self._sent[key] = (partition, now)
                try:
                    self._producer.produce(
                        self.topic, self.value(key), key, partition=partition, on_delivery=self._on_delivery
                    )
                except BufferError:  # no broker has responded for minutes
                    self._lose(key)
        self._producer.poll(0)

    def receive(self, messages: Iterable[Message]) -> None:
        """Remove the canaries whose results are among the messages, and update the metric."""
        for message in messages:
            self._sent.pop((message.key() or b"").decode(errors="replace"), None)
        now = time.monotonic()
        for key in [key for key, (_, sent) in self._sent.items() if now - sent > self.max_age_seconds]:
            self._lose(key)
        oldest = dict[int, float]()
        for number, sent in self._sent.values():  # sorted by send time
            oldest.setdefault(number, sent)
        for partition in range(self.partitions):
            self._missing.labels(str(partition)).set(now - oldest.get(partition, now))

    def close(self) -> None:
        """Send the records in the client's buffer, if a broker responds."""
        self._producer.flush(FLUSH_SECONDS)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error:
            self._lose((message.key() or b"").decode())

    def _lose(self, key: str) -> None:
        if self._sent.pop(key, None):
            self._lost.inc()
