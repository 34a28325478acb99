"""Helper functions that several test folders share."""

import os
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from confluent_kafka import Consumer, Producer, TopicPartition

from examples.kafka.topics import ensure_topics
from examples.realtime.queries import wait_until

T = TypeVar("T")

IVY_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="folder"/>
  <resolvers>
    <filesystem name="folder"><artifact pattern="{folder}/[artifact]-[revision].[ext]"/></filesystem>
  </resolvers>
</ivysettings>
"""


def eventually(probe: Callable[[], T], deadline_seconds: float, what: str) -> T:
    """
    Call `probe` until it returns a true value, and return that value.

    Raises AssertionError with `what` and the last value if the deadline passes first.
    """
    values: list[T] = []

    def is_true() -> T:
        values[:] = [probe()]
        return values[0]

    try:
        wait_until(is_true, deadline_seconds, what)
    except TimeoutError as error:
        raise AssertionError(f"{error}; the last value was {values[0]!r}") from None
    return values[0]


def ivy_settings(folder: Path) -> Path:
    """Write Ivy settings next to `folder` that resolve packages only from it; return the path of the settings."""
    path = folder.with_name("ivysettings.xml")
    path.write_text(IVY_SETTINGS.format(folder=folder))
    return path


def is_alive(pid: int) -> bool:
    """Return whether a process with this id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def new_topic(kafka: str, partitions: int) -> str:
    """Create a topic with a unique name and return the name."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    ensure_topics(kafka, [name], partitions, {name: {}})
    return name


def produce(kafka: str, topic: str, records: Iterable[tuple[int, bytes | None]]) -> None:
    """Send (partition, value) records and wait until the broker has them."""
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0, "message.max.bytes": 2_000_000})
    for partition, value in records:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


def end_offset(kafka: str, topic: str, partition: int = 0) -> int:
    """Return the end offset of a partition."""
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)[1])
    finally:
        consumer.close()
