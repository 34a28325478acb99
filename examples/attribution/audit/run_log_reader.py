"""Read all topics of a run from Kafka into a `RunLog`, without Spark."""

import time

from confluent_kafka import Message

from examples.attribution.audit.run_log import Row, RunLog, SourceRecord
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
from spark_rtm.kafka.consumer import consumer_from_start, end_offsets, is_at_end, is_record, json_object

CONSUMER_CONF = {
    # Latencies are computed from append times. A slow reader does not change these times, so fetches may wait for more
    # data.
    "fetch.wait.max.ms": 100,
    "fetch.min.bytes": 100_000,
    "queued.max.messages.kbytes": 65_536,
}
MAX_MESSAGES = 2_000


class RunLogReader:
    """A Kafka consumer that reads all topics from the start into `log`."""

    def __init__(self, bootstrap_servers: str, settings: Settings, partitions: dict[str, int]) -> None:
        """Assign all partitions. `partitions` maps topic names without their prefix to numbers of partitions."""
        self.log, self._exactly_once = RunLog(), bool(settings.exactly_once)
        self._names = {settings.topic(name): name for name in TOPICS}
        counts = {topic: partitions[name] for topic, name in self._names.items()}
        self._consumer = consumer_from_start(bootstrap_servers, counts, CONSUMER_CONF)

    def poll(self, seconds: float) -> None:
        """Read available records for at most `seconds`."""
        for message in filter(is_record, self._consumer.consume(MAX_MESSAGES, seconds)):
            src = f"{message.topic()}:{message.partition()}:{message.offset():012d}"
            try:
                self._record(message, src)
            except (AttributeError, KeyError, TypeError, ValueError):  # others' records lack fields and headers
                self.log.unreadable.append(src)

    def is_settled(self) -> bool:
        """Return whether all topics have been read to the end and every record has a final result."""
        return not self.log.outstanding() and is_at_end(self._consumer)

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end offset of each partition, keyed by topic and partition number."""
        return end_offsets(self._consumer, self._consumer.assignment())

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _record(self, message: Message, src: str) -> None:
        name = self._names[message.topic() or ""]
        appended_at = message.timestamp()[1]
        headers = _headers(message)
        if name in SOURCE_TOPICS:
            label, t0 = headers.get("label", b"").decode(errors="replace"), int(headers.get("t0", b"0"))
            self.log.record_source(src, SourceRecord(message.value(), label, t0, appended_at))
        elif name == REJECTED_TOPIC:
            self.log.record_reject(headers["src"].decode(), headers["reason"].decode(), message.value())
        elif name == ERASURES_TOPIC:
            self.log.erased.add((message.key() or b"").decode())
        elif (row := json_object(message.value(), {})) is None:
            raise ValueError(src)
        else:
            self._record_row(name, row, appended_at)

    def _record_row(self, name: str, row: Row, appended_at: int) -> None:
        if name == EVENTS_TOPIC:
            self.log.record_event(row, appended_at)
        elif name == ATTRIBUTED_TOPIC:
            self.log.record_result(row, appended_at)
            if self._exactly_once:
                self.log.visible_at.setdefault(row["src"], int(time.time() * 1000))
        elif name == CREDITS_TOPIC:
            self.log.record_credit(row, appended_at)
        elif name == PACING_TOPIC:
            self.log.record_count(row)


def _headers(message: Message) -> dict[str, bytes]:
    headers: list[tuple[str, bytes | str | None]] = list(message.headers() or [])  # type: ignore[arg-type]
    return {key: value for key, value in headers if isinstance(value, bytes)}
