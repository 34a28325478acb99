"""
Send a record to each partition of the source topic at a fixed interval, and measure how long its result takes.

A canary shows faults that no metric of the engine shows during a batch: a starved partition, a stuck task, a failed
query.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, Message, Producer
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge

from spark_rtm.kafka.consumer import CLIENT

FLUSH_SECONDS = 2
PREFIX = "canary-"
"""Prefix of canary keys. Exclude records with such keys from counts and bills."""


@dataclass
class Canary:
    """Canaries of one source topic. Only one thread at a time may call its methods."""

    bootstrap_servers: str
    topic: str
    partitions: int
    value: Callable[[str], bytes]
    """Returns a valid record for a key."""
    interval_seconds: float = 1
    registry: CollectorRegistry = REGISTRY
    client: Mapping[str, object] = field(default_factory=dict, repr=False)
    """Other client options, such as a login."""
    max_age_seconds: float = 600
    """Age at which a canary without a result counts as lost, for example after its deletion from the source topic."""

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
        # The metric shows an outage, so the client does not log each of its attempts.
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
                except BufferError:  # no broker has answered for minutes
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
        for number, sent in self._sent.values():  # in the order of their times
            oldest.setdefault(number, sent)
        for partition in range(self.partitions):
            self._missing.labels(str(partition)).set(now - oldest.get(partition, now))

    def close(self) -> None:
        """Send the records in the client's buffer, if a broker answers."""
        self._producer.flush(FLUSH_SECONDS)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error:
            self._lose((message.key() or b"").decode())

    def _lose(self, key: str) -> None:
        if self._sent.pop(key, None):
            self._lost.inc()
