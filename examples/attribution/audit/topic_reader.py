"""
Read all topics of a run back from Kafka, without Spark, and book every record.

What arrives are the records of all topics; what leaves are `Books`, and whether the topics are read to their ends.
Real-time mode reports progress only once per batch, so that the end of a run is found in the topics instead.
"""

import json

from confluent_kafka import Message

from examples.attribution.audit.run_log import Books, SourceRecord
from examples.attribution.settings import Settings
from examples.attribution.topics import (
    ATTRIBUTED_TOPIC,
    CREDITS_TOPIC,
    ERASURES_TOPIC,
    EVENTS_TOPIC,
    PACING_TOPIC,
    REJECTED_TOPIC,
    SOURCE_TOPICS,
    TOPICS,
)
from examples.kafka.client import consumer_from_start, end_offsets, is_at_end, is_record

READER = {
    # Append times do not depend on the reader, so it may wait for larger fetches.
    "fetch.wait.max.ms": 100,
    "fetch.min.bytes": 100_000,
    "queued.max.messages.kbytes": 65_536,
}
MAX_MESSAGES = 2_000


class LedgerReader:
    """Fills the books from Kafka, from the start of all topics, as they grow."""

    def __init__(self, bootstrap_servers: str, settings: Settings, partitions: dict[str, int]) -> None:
        """Take `partitions`, the number of partitions by plain topic name."""
        self.books = Books()
        self._names = {settings.topic(name): name for name in TOPICS}
        counts = {topic: partitions[name] for topic, name in self._names.items()}
        self._consumer = consumer_from_start(bootstrap_servers, counts, READER)

    def poll(self, seconds: float) -> int:
        """Read what has come, at most for `seconds`, and return the number of records."""
        messages = self._consumer.consume(MAX_MESSAGES, seconds)
        for message in messages:
            if is_record(message):
                self._book(message)
        return len(messages)

    def is_settled(self) -> bool:
        """Tell whether all topics are read to their ends, every record is answered, and every answer is final."""
        books = self.books
        if any(books.waiting.values()) or books.pending or books.open_orders() or not books.is_counted():
            return False
        return is_at_end(self._consumer)

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end offset of each partition by topic and partition number."""
        return end_offsets(self._consumer, self._consumer.assignment())

    def close(self) -> None:
        """Leave Kafka."""
        self._consumer.close()

    def _book(self, message: Message) -> None:
        name, value, appended_at = self._names[message.topic() or ""], message.value(), message.timestamp()[1]
        if name in SOURCE_TOPICS:
            headers = _headers(message)
            src = f"{message.topic()}:{message.partition()}:{message.offset():012d}"
            label, t0 = headers.get("label", b"").decode(), int(headers.get("t0", b"0"))
            self.books.add_source(src, SourceRecord(value, label, t0, appended_at))
        elif name == REJECTED_TOPIC:
            headers = _headers(message)
            self.books.add_reject(headers["src"].decode(), headers["reason"].decode(), value)
        elif name == ERASURES_TOPIC:
            self.books.add_erasure((message.key() or b"").decode(), appended_at)
        else:
            self._book_json(name, value or b"", message.partition() or 0, appended_at)

    def _book_json(self, name: str, value: bytes, partition: int, appended_at: int) -> None:
        row = json.loads(value)
        if name == EVENTS_TOPIC:
            self.books.add_event(row, partition, appended_at)
        elif name == ATTRIBUTED_TOPIC:
            self.books.add_result(row, appended_at)
        elif name == CREDITS_TOPIC:
            self.books.add_credit(row)
        elif name == PACING_TOPIC:
            self.books.add_count(row)


def _headers(message: Message) -> dict[str, bytes]:
    headers: list[tuple[str, bytes | str | None]] = list(message.headers() or [])  # type: ignore[arg-type]
    return {key: value for key, value in headers if isinstance(value, bytes)}
