"""Read whole Kafka topics without Spark, check JSON records, and define settings for Kafka clients outside Spark."""

import json
import re
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from spark_rtm.realtime.queries import wait_until

CLIENT = {
    # By default, a client logs ten failed attempts per second and connection during an outage.
    "reconnect.backoff.ms": 1_000
}
"""Settings for all Kafka clients outside Spark."""
CONSUMER = CLIENT | {
    # The client library requires a group id, although these consumers assign partitions and store offsets themselves.
    "group.id": "spark_rtm",
    "enable.auto.commit": False,
}
"""Settings for all Kafka consumers outside Spark."""
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"
"""Values of `isolation.level`. Unlike Java clients, these consumers read committed records by default."""
REQUEST_TIMEOUT_SECONDS = 10
MAX_MESSAGES = 1_000
# These errors mean that the broker is temporarily unreachable. The client reconnects automatically.
TRANSIENT_ERRORS = (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT)  # noqa: SLF001 - documented names
MAX_LONG = 2**63 - 1
"""Maximum number in a column of type `bigint`."""

# PostgreSQL can store neither the NUL character nor lone surrogates.
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def consumer_from_start(
    bootstrap_servers: str, partitions: Mapping[str, int], confs: Mapping[str, object] | None = None
) -> Consumer:
    """Return a consumer that reads topics from their start. `partitions` maps each topic to its partition count."""
    consumer = Consumer({**CONSUMER, "bootstrap.servers": bootstrap_servers, **(confs or {})})
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for topic, n in partitions.items() for p in range(n)])
    return consumer


def is_record(message: Message) -> bool:
    """Return whether a message is a record rather than an error. Raise KafkaException for a permanent error."""
    error = message.error()
    if error is not None and (error.fatal() or error.code() not in TRANSIENT_ERRORS):
        raise KafkaException(error)
    return error is None


def end_offsets(consumer: Consumer, partitions: Iterable[TopicPartition]) -> dict[tuple[str, int], int]:
    """Return the end offset of each partition (0 if it is empty), keyed by topic and partition number."""
    ends = {}
    for partition in partitions:
        low, high = consumer.get_watermark_offsets(partition, timeout=REQUEST_TIMEOUT_SECONDS)
        ends[partition.topic, partition.partition] = high if low < high else 0
    return ends


def is_at_end(consumer: Consumer, ends: Mapping[tuple[str, int], int] | None = None) -> bool:
    """
    Return whether the consumer has reached these ends of its partitions, by default the current ones.

    For a reader of committed records, an open transaction is the end. Positions pass markers and aborted records.
    """
    partitions = consumer.assignment()
    ends = ends or end_offsets(consumer, partitions)
    # A position is negative until the partition's first record has been read.
    return all(max(at.offset, 0) >= ends[at.topic, at.partition] for at in consumer.position(partitions))


def rest_of(consumer: Consumer) -> list[Message]:
    """Return the records that the consumer has not read yet. Raises TimeoutError if the end is not reached in 60 s."""
    records = list[Message]()

    def is_read() -> bool:
        records.extend(message for message in consumer.consume(MAX_MESSAGES, 0.05) if is_record(message))
        return is_at_end(consumer)

    wait_until(is_read, 60, f"the end of {', '.join(sorted({p.topic for p in consumer.assignment()}))}")
    return records


def read_topic(
    bootstrap_servers: str,
    *topics: str,
    min_records: int = 0,
    deadline_seconds: float = 60,
    isolation_level: str = COMMITTED,
) -> list[Message]:
    """
    Wait until `topics` together contain at least `min_records` records, and return all records of these topics.

    Records of the same partition are in order. Raises TimeoutError after the deadline.
    """
    confs = {"bootstrap.servers": bootstrap_servers, "fetch.wait.max.ms": 50, "isolation.level": isolation_level}
    consumer = Consumer({**CONSUMER, **confs})
    records, partitions, ends = list[Message](), list[TopicPartition](), dict[tuple[str, int], int]()

    def is_read() -> bool:
        records.extend(message for message in consumer.consume(MAX_MESSAGES, 0.1) if is_record(message))
        if len(records) >= min_records and not ends:
            # Under traffic, a reader may never reach the newest end.
            ends.update(end_offsets(consumer, partitions))
        return bool(ends) and is_at_end(consumer, ends)

    try:
        for topic in topics:
            found = consumer.list_topics(topic, REQUEST_TIMEOUT_SECONDS).topics[topic].partitions
            partitions += [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in found]
        consumer.assign(partitions)
        wait_until(is_read, deadline_seconds, f"{max(min_records, 1)} or more records in {', '.join(topics)}")
    except TimeoutError as error:
        raise TimeoutError(
            f"{error}; {len(records)} arrived; check that the broker and the writer are running"
        ) from error
    finally:
        consumer.close()
    return records


def json_object(value: bytes | None, fields: Mapping[str, type | UnionType]) -> dict[str, Any] | None:
    """
    Return the JSON object in `value`, or None for a tombstone, other JSON or a field of the wrong type.

    Anyone who may write to a topic can append such values. A consumer that raised an error would fail again after each
    restart.
    `fields` maps names to types. A missing field is treated as null. Other fields are allowed and not checked.
    """
    try:
        row = json.loads(value or b"")
    # Deeply nested arrays raise RecursionError. All other invalid JSON raises ValueError.
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or not all(_is_valid(row.get(name), kind) for name, kind in fields.items()):
        return None
    return row


def _is_valid(value: Any, field_type: type | UnionType) -> bool:
    if isinstance(value, bool):
        return isinstance(True, field_type) and field_type is not int
    if isinstance(value, int):
        return isinstance(value, field_type) and abs(value) <= MAX_LONG
    if isinstance(value, str):
        return isinstance(value, field_type) and not UNSTORABLE.search(value)
    return isinstance(value, field_type)
