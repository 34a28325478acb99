"""
Read all topics of a run from Kafka into a `RunLog`, without using Spark.

A real-time query reports its progress only once per batch, so the reader detects the end of a run from the records.
"""

import json

from confluent_kafka import Message

from examples.attribution.audit.run_log import RunLog, SourceRecord
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
from examples.kafka.consumer import consumer_from_start, end_offsets, is_at_end, is_record

CONSUMER_CONF = {
    # Latencies are computed from append times. A slow reader does not change these times, so fetches may wait for more
    # data.
    "fetch.wait.max.ms": 100,
    "fetch.min.bytes": 100_000,
    "queued.max.messages.kbytes": 65_536,
}
MAX_MESSAGES = 2_000


class RunLogReader:
    """A Kafka consumer that reads all topics from the start and adds the records to `log`."""

    def __init__(self, bootstrap_servers: str, settings: Settings, partitions: dict[str, int]) -> None:
        """Assign all partitions; `partitions` maps each topic name (without prefix) to its number of partitions."""
        self.log = RunLog()
        self._names = {settings.topic(name): name for name in TOPICS}
        counts = {topic: partitions[name] for topic, name in self._names.items()}
        self._consumer = consumer_from_start(bootstrap_servers, counts, CONSUMER_CONF)

    def poll(self, seconds: float) -> int:
        """Read available records for at most `seconds` and return their number."""
        messages = self._consumer.consume(MAX_MESSAGES, seconds)
        for message in messages:
            if is_record(message):
                self._record(message)
        return len(messages)

    def is_settled(self) -> bool:
        """Return whether all topics are read to the end, every record has its result, and every result is final."""
        log = self.log
        if any(log.waiting.values()) or log.pending or log.open_orders() or not log.is_pacing_complete():
            return False
        return is_at_end(self._consumer)

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end offset of each partition, keyed by topic and partition number."""
        return end_offsets(self._consumer, self._consumer.assignment())

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _record(self, message: Message) -> None:
        name = self._names[message.topic() or ""]
        value = message.value()
        appended_at = message.timestamp()[1]
        if name in SOURCE_TOPICS:
            headers = _headers(message)
            src = f"{message.topic()}:{message.partition()}:{message.offset():012d}"
            label, t0 = headers.get("label", b"").decode(), int(headers.get("t0", b"0"))
            self.log.record_source(src, SourceRecord(value, label, t0, appended_at))
        elif name == REJECTED_TOPIC:
            headers = _headers(message)
            self.log.record_reject(headers["src"].decode(), headers["reason"].decode(), value)
        elif name == ERASURES_TOPIC:
            self.log.record_erasure((message.key() or b"").decode(), appended_at)
        else:
            self._record_json(name, value or b"", message.partition() or 0, appended_at)

    def _record_json(self, name: str, value: bytes, partition: int, appended_at: int) -> None:
        row = json.loads(value)
        if name == EVENTS_TOPIC:
            self.log.record_event(row, partition, appended_at)
        elif name == ATTRIBUTED_TOPIC:
            self.log.record_result(row, appended_at)
        elif name == CREDITS_TOPIC:
            self.log.record_credit(row)
        elif name == PACING_TOPIC:
            self.log.record_count(row)


def _headers(message: Message) -> dict[str, bytes]:
    headers: list[tuple[str, bytes | str | None]] = list(message.headers() or [])  # type: ignore[arg-type]
    return {key: value for key, value in headers if isinstance(value, bytes)}
