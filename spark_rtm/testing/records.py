"""Define the records that a test sends to and receives from a query."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Message

TOPIC_HEADER = "rtm-test-topic"
"""Header that contains the topic that the query chose for a redirected record."""

Bytes = str | bytes | None


@dataclass(frozen=True)
class Sent:
    """A record for the source topic."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True)
class Received:
    """A record that the query wrote."""

    topic: str
    """The topic that the query chose, or an empty string if its rows have no `topic` column."""
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    appended_ms: int = field(compare=False)

    def fields(self) -> Any:
        """Return the record's value, parsed as JSON."""
        return json.loads(self.value or b"")


def as_sent(record: "Sent | Bytes | Mapping[str, Any] | tuple[Bytes, Any]") -> Sent:
    """Convert a value, a (key, value) pair, a mapping (JSON object) or a `Sent` to a `Sent`."""
    if isinstance(record, Sent):
        return record
    key, value = record if isinstance(record, tuple) else (None, record)
    return Sent(_encoded(json.dumps(value) if isinstance(value, Mapping) else value), _encoded(key))


def received(message: Message) -> Received:
    """Convert a message from the target topic to the record that the query wrote."""
    found: Iterable[tuple[str, str | bytes | None]] = message.headers() or []  # type: ignore[assignment]
    headers = [(name, _encoded(value)) for name, value in found]
    topic = next((value or b"" for name, value in headers if name == TOPIC_HEADER), b"").decode()
    kept = tuple(header for header in headers if header[0] != TOPIC_HEADER)
    return Received(topic, _encoded(message.key()), _encoded(message.value()), kept, message.timestamp()[1])


def _encoded(value: Bytes) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
