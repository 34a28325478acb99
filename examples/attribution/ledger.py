"""
Read all topics of a run back from Kafka, without Spark, and keep what reconciliation and latency need.

What arrives are the records of the source topics, `events`, `ad-rejected` and `ad-attributed`; what leaves are facts:
each source record, where it went, the newest version of each result, and the append times in between.
Real-time mode reports progress only once per batch, so that live numbers come from the topics themselves.
"""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from examples.settings import ATTRIBUTED_TOPIC, EVENTS_TOPIC, REJECTED_TOPIC, SOURCE_TOPICS, TOPICS, Settings

CONSUMER = {
    "group.id": "ledger",
    "enable.auto.commit": False,
    # Append times do not depend on the reader, so it may wait for company and spare the broker a fetch per record.
    "fetch.wait.max.ms": 100,
    "fetch.min.bytes": 100_000,
    "queued.max.messages.kbytes": 65_536,
}
# The broker may be away for a while; the client reconnects by itself.
LOST_CONNECTION = (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT)  # noqa: SLF001  # their public names


@dataclass(frozen=True)
class SourceRecord:
    """One record of a source topic; times are UTC milliseconds, `t0` is the intended send time."""

    value: bytes | None
    label: str
    t0: int
    appended_at: int


@dataclass(frozen=True)
class EventRecord:
    """One record of `events`: where it stands, when it was appended (UTC milliseconds), and its kind."""

    partition: int
    appended_at: int
    kind: str


class Ledger:
    """
    The books of one run. Records are known by their position in the source topic, `src`.

    `add_*` take what stands in Kafka; order and repeats do not matter.
    """

    def __init__(self) -> None:
        """Open empty books."""
        self.sources: dict[str, SourceRecord] = {}
        self.events: dict[str, EventRecord] = {}
        self.rejects: dict[str, tuple[str, bytes | None]] = {}
        """Reason and raw value by `src`."""
        self.results: dict[str, dict[str, Any]] = {}
        """The newest version by result id."""
        self.answered: dict[str, int] = {}
        """Append time of the first result that knows the record, by `src`."""
        self.waiting: Counter[str] = Counter()
        """Records that a stage has not answered yet, by `stage topic:partition`: its lag."""
        self.delivered_again: Counter[str] = Counter()
        """Repeats that an at-least-once sink made, by topic."""
        self.result_rows = 0
        """Records of `ad-attributed`, every version of every result."""
        self.contradictions: list[str] = []
        """Results that came twice with the same version and different content."""

    def add_source(self, src: str, record: SourceRecord) -> None:
        """Book a record of a source topic."""
        self.sources[src] = record
        if src not in self.events and src not in self.rejects:
            self.waiting[_decoding(src)] += 1

    def add_event(self, event: dict[str, Any], partition: int, appended_at: int) -> None:
        """Book a record of `events`."""
        src = event["src"]
        if src in self.events:
            self.delivered_again[EVENTS_TOPIC] += 1
            return
        self._decoded(src)
        self.events[src] = EventRecord(partition, appended_at, event["kind"])
        if event["kind"] != "conversion" and src not in self.answered:
            self.waiting[_correlating(self.events[src])] += 1

    def add_reject(self, src: str, reason: str, raw: bytes | None) -> None:
        """Book a record of `ad-rejected`."""
        if src in self.rejects:
            self.delivered_again[REJECTED_TOPIC] += 1
            return
        self._decoded(src)
        self.rejects[src] = (reason, raw)

    def add_result(self, result: dict[str, Any], appended_at: int) -> None:
        """Book a record of `ad-attributed`."""
        self.result_rows += 1
        src, result_id = result["src"], result["result_id"]
        if src not in self.answered and result["kind"] != "slot":
            self.answered[src] = appended_at
            if src in self.events:
                self.waiting[_correlating(self.events[src])] -= 1
        known = self.results.get(result_id)
        if known is None or result["version"] > known["version"]:
            self.results[result_id] = result
        elif result["version"] == known["version"]:
            self.delivered_again[ATTRIBUTED_TOPIC] += 1
            if result != known:
                self.contradictions.append(result_id)

    def _decoded(self, src: str) -> None:
        if src in self.sources:
            self.waiting[_decoding(src)] -= 1


class LedgerReader:
    """Fills a ledger from Kafka, from the start of all topics, as they grow."""

    def __init__(self, bootstrap_servers: str, settings: Settings, partitions: dict[str, int]) -> None:
        """Take `partitions`, the number of partitions by plain topic name."""
        self.ledger = Ledger()
        self._names = {settings.topic(name): name for name in TOPICS}
        self._consumer = Consumer({**CONSUMER, "bootstrap.servers": bootstrap_servers})
        self._consumer.assign(
            [TopicPartition(t, p, OFFSET_BEGINNING) for t, name in self._names.items() for p in range(partitions[name])]
        )

    def poll(self, seconds: float) -> int:
        """Read what has come, at most for `seconds`, and return the number of records."""
        messages = self._consumer.consume(2_000, seconds)
        for message in messages:
            error = message.error()
            if error is None:
                self._book(message)
            elif error.fatal() or error.code() not in LOST_CONNECTION:
                raise KafkaException(error)
        return len(messages)

    def is_settled(self) -> bool:
        """Tell whether all topics are read to their ends and every record is answered."""
        if any(self.ledger.waiting.values()):
            return False
        partitions = self._consumer.position(self._consumer.assignment())
        ends = [self._consumer.get_watermark_offsets(partition, timeout=5) for partition in partitions]
        # The position is negative until the first record of a partition.
        return all(max(partition.offset, 0) >= end for partition, (_, end) in zip(partitions, ends, strict=True))

    def close(self) -> None:
        """Leave Kafka."""
        self._consumer.close()

    def _book(self, message: Message) -> None:
        name, value, appended_at = self._names[message.topic() or ""], message.value(), message.timestamp()[1]
        headers = _headers(message)
        if name in SOURCE_TOPICS:
            src = f"{message.topic()}:{message.partition()}:{message.offset():012d}"
            label, t0 = headers.get("label", b"").decode(), int(headers.get("t0", b"0"))
            self.ledger.add_source(src, SourceRecord(value, label, t0, appended_at))
        elif name == EVENTS_TOPIC:
            self.ledger.add_event(json.loads(value or b""), message.partition() or 0, appended_at)
        elif name == REJECTED_TOPIC:
            self.ledger.add_reject(headers["src"].decode(), headers["reason"].decode(), value)
        else:
            self.ledger.add_result(json.loads(value or b""), appended_at)


def _headers(message: Message) -> dict[str, bytes]:
    headers: list[tuple[str, bytes | str | None]] = list(message.headers() or [])  # type: ignore[arg-type]
    return {key: value for key, value in headers if isinstance(value, bytes)}


def _decoding(src: str) -> str:
    return f"kafka_to_events {src.rpartition(':')[0]}"


def _correlating(event: EventRecord) -> str:
    return f"events_to_attributed {EVENTS_TOPIC}:{event.partition}"
