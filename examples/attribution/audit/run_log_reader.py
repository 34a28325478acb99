"""
Read all topics of a run from Kafka into a `RunLog`, without Spark.

A real-time query reports its progress only once per batch, so the reader detects the end of a run from the records.
Producers can write any bytes, so the reader skips unreadable records and logs their positions.
"""

import re
from typing import get_type_hints

from confluent_kafka import Message

from examples.attribution.audit.run_log import Row, RunLog, SourceRecord
from examples.attribution.correlation.rule import Result
from examples.attribution.events import KINDS
from examples.attribution.pacing.rule import CampaignCount
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
from spark_rtm.kafka.consumer import consumer_from_start, end_offsets, is_at_end, is_record
from spark_rtm.kafka.records import FieldTypes, has_fields, json_object

CONSUMER_CONF = {
    # Latencies are computed from append times. A slow reader does not change these times, so fetches may wait for more
    # data.
    "fetch.wait.max.ms": 100,
    "fetch.min.bytes": 100_000,
    "queued.max.messages.kbytes": 65_536,
}
MAX_MESSAGES = 2_000
FIELDS: dict[str, FieldTypes] = {
    EVENTS_TOPIC: {"src": str, "kind": str},
    ATTRIBUTED_TOPIC: get_type_hints(Result),
    CREDITS_TOPIC: {
        **dict.fromkeys(("result_id", "code", "advertiser_id", "order_id"), str),
        **dict.fromkeys(("version", "value_micros", "records", "late_touches"), int),
        "final": bool,
        "credits": list,
    },
    PACING_TOPIC: {"result_id": str, **get_type_hints(CampaignCount)},
}
"""Fields that `RunLog` and the reconciliation need, by topic."""
ORDER_FIELDS: FieldTypes = {"advertiser_id": str, "order_id": str, "user_key": str | None}
SHARE_FIELDS: FieldTypes = {"credit_millionths": int, "value_micros": int}
SEND_TIME = re.compile(rb"[0-9]{1,16}")


class RunLogReader:
    """A Kafka consumer that reads all topics from the start into `log`."""

    def __init__(self, bootstrap_servers: str, settings: Settings, partitions: dict[str, int]) -> None:
        """Assign all partitions. `partitions` maps topic names without their prefix to numbers of partitions."""
        self.log = RunLog()
        self._names = {settings.topic(name): name for name in TOPICS}
        counts = {topic: partitions[name] for topic, name in self._names.items()}
        self._consumer = consumer_from_start(bootstrap_servers, counts, CONSUMER_CONF)

    def poll(self, seconds: float) -> int:
        """Read available records for at most `seconds`, and return the number of messages read."""
        messages = self._consumer.consume(MAX_MESSAGES, seconds)
        for message in messages:
            if is_record(message):
                self._record(message)
        return len(messages)

    def is_settled(self) -> bool:
        """Return whether all topics have been read to the end and every record has a final result."""
        return not self.log.outstanding() and is_at_end(self._consumer)

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end offset of each partition, keyed by topic and partition number."""
        return end_offsets(self._consumer, self._consumer.assignment())

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _record(self, message: Message) -> None:
        name = self._names[message.topic() or ""]
        src = f"{message.topic()}:{message.partition()}:{message.offset():012d}"
        appended_at = message.timestamp()[1]
        if name in SOURCE_TOPICS:
            self.log.record_source(src, _source_record(message, appended_at))
        elif name == REJECTED_TOPIC and {"src", "reason"} <= _headers(message).keys():
            headers = _headers(message)
            self.log.record_reject(_text(headers["src"]), _text(headers["reason"]), message.value())
        elif name == ERASURES_TOPIC and message.value() is None and message.key() is not None:
            self.log.record_erasure(_text(message.key() or b""), appended_at)
        elif name not in FIELDS or not self._record_json(name, message, appended_at):
            self.log.unreadable.append(src)

    def _record_json(self, name: str, message: Message, appended_at: int) -> bool:
        """Add a JSON record to the log. Return False if the record is unreadable."""
        row = json_object(message.value(), FIELDS[name])
        if row is None:
            return False
        if name == EVENTS_TOPIC and _is_event(row):
            self.log.record_event(row, message.partition() or 0, appended_at)
        elif name == ATTRIBUTED_TOPIC:
            self.log.record_result(row, appended_at)
        elif name == CREDITS_TOPIC and all(isinstance(s, dict) and has_fields(s, SHARE_FIELDS) for s in row["credits"]):
            self.log.record_credit(row, appended_at)
        elif name == PACING_TOPIC:
            self.log.record_count(row)
        else:
            return False
        return True


def _is_event(row: Row) -> bool:
    return row["kind"] in KINDS and (row["kind"] != "conversion" or has_fields(row, ORDER_FIELDS))


def _source_record(message: Message, appended_at: int) -> SourceRecord:
    headers = _headers(message)
    t0 = headers.get("t0", b"")
    return SourceRecord(
        message.value(), _text(headers.get("label", b"")), int(t0) if SEND_TIME.fullmatch(t0) else 0, appended_at
    )


def _headers(message: Message) -> dict[str, bytes]:
    headers: list[tuple[str, bytes | str | None]] = list(message.headers() or [])  # type: ignore[arg-type]
    return {key: value for key, value in headers if isinstance(value, bytes)}


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")
