import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from examples.alerts.job import Job, Options
from spark_rtm.kafka.consumer import consumer_from_start, is_record
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.testing.records import Received, received
from tests.helpers import eventually

START_SECONDS = 150
Record = tuple[bytes | None, bytes | None]
"""A key and a value."""

BROKEN: dict[str, bytes | None] = {
    "tombstone": None,
    "empty": b"",
    "oversized": b"x" * 100_001,
    "not_utf8": b'{"a":"\xff"}',
    "not_json": b"{bad",
}
"""Records that no job can read, by the expected reject reason."""


@contextmanager
def new_options(kafka: str, folder: Path) -> Iterator[Options]:
    """Yield options with a trigger interval longer than the test, which fails if an output waits for a commit."""
    options = Options(
        kafka, topic_prefix=f"test-{uuid.uuid4().hex[:8]}.", checkpoint_dir=str(folder), interval_seconds=300
    )
    yield options
    session = SparkSession.getActiveSession()
    for query in session.streams.active if session else []:
        query.stop()
    admin = AdminClient({"bootstrap.servers": kafka})
    topics = [name for name in admin.list_topics(timeout=10).topics if name.startswith(options.topic_prefix)]
    for outcome in admin.delete_topics(topics).values() if topics else []:
        outcome.result(30)
    _producer.cache_clear()  # A cached producer would log the end of the broker.


def encoded(fields: dict[str, Any], **changes: Any) -> bytes:
    """Return `fields` with `changes` as JSON; a change to `...` removes the field."""
    return json.dumps({k: v for k, v in (fields | changes).items() if v is not ...}).encode()


@cache
def _producer(bootstrap_servers: str) -> Producer:
    return Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0})


def create(job: Job, options: Options) -> None:
    """
    Create a job's topics, so that a test can send records before the job starts.

    The producer connects here, because a connection after the creation of a heartbeat would delay its append, and the
    job rejects heartbeats that are a second old.
    """
    names = [options.topic_prefix + name for name in (*job.reads, *job.writes)]
    ensure_topics(options.bootstrap_servers, names, options.partitions)
    for name in names:
        _producer(options.bootstrap_servers).list_topics(name, timeout=30)


def send(options: Options, topic: str, records: Iterable[Record]) -> None:
    """Send (key, value) records to one partition, in order, and wait for their acknowledgements."""
    producer = _producer(options.bootstrap_servers)
    for key, value in records:
        producer.produce(options.topic_prefix + topic, value, key, partition=0)
    assert 0 == producer.flush(30)


def outputs_of(
    options: Options, job: Job, until: int | Callable[[list[Received]], bool], deadline_seconds: float = 60
) -> list[Received]:
    """
    Read the job's target topics, and return their records in order of source position, with topic names without prefix.

    `until` is the number of records, or a function that decides whether the records are complete.
    """
    topics = {options.topic_prefix + name: options.partitions for name in job.writes}
    consumer = consumer_from_start(options.bootstrap_servers, topics)
    outputs: list[Received] = []

    def poll() -> bool:
        for message in filter(is_record, consumer.consume(1_000, 0.2)):
            topic = (message.topic() or "").removeprefix(options.topic_prefix)
            outputs.append(replace(received(message), topic=topic))
        return until(outputs) if callable(until) else len(outputs) >= until

    try:
        eventually(poll, deadline_seconds, f"the records of {job.name}")
    except AssertionError as error:
        error.add_note(f"received: {outputs}")
        raise
    else:
        return sorted(outputs, key=lambda output: (dict(output.headers)["src"] or b"", output.topic))
    finally:
        consumer.close()
