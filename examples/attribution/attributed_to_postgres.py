"""
Follow `ad-attributed` into PostgreSQL beside the query that writes it, some milliseconds behind.

What arrives are records of `ad-attributed`, versions of a result in any order; what leaves is one row per result.
Real-time mode of open-source Spark hands rows to a Python sink seconds late, so a Kafka consumer drives the sink here.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
from confluent_kafka import Consumer, TopicPartition
from psycopg.conninfo import conninfo_to_dict

from examples.attribution.attributed_table import COLUMNS, SCHEMA, create_tables, results_sink, results_table
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC
from examples.kafka.client import CLIENT, is_record
from examples.sinks import PostgresUpsertSink

OFFSETS = {"topic": "text", "partition": "int", "next_offset": "bigint"}
SAVE_SECONDS = 1.0
POLL_SECONDS = 0.1
TIMEOUT_SECONDS = 10


class Follower:
    """
    A consumer of `ad-attributed`.

    Its offsets are rows of the same database, written after the results that they cover: so a database that is new, or
    restored from a backup, gets what it lacks.
    """

    def __init__(self, bootstrap_servers: str, dsn: str, settings: Settings, partitions: int) -> None:
        """Create the tables and find the place to go on from."""
        create_tables(dsn, settings)
        connect: dict[str, Any] = dict(conninfo_to_dict(dsn))
        offsets = (SCHEMA, f"{results_table(settings)}_offsets")
        self._results = results_sink(connect, settings)
        self._offsets = PostgresUpsertSink(connect, offsets, ("topic", "partition"), OFFSETS, "next_offset")
        self.metrics = self._results.metrics
        self._topic = settings.topic(ATTRIBUTED_TOPIC)
        with psycopg.connect(dsn) as connection:
            query = f"select partition, next_offset from {SCHEMA}.{offsets[1]} where topic = %s"
            stored = connection.execute(query.encode(), [self._topic]).fetchall()
        self._next = dict.fromkeys(range(partitions), 0) | dict(stored)
        self._ends = dict.fromkeys(self._next, 0)
        self._finish = threading.Event()
        consumer = {"group.id": results_table(settings), "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        self._consumer = Consumer({**CLIENT, **consumer, "bootstrap.servers": bootstrap_servers})
        self._consumer.assign([TopicPartition(self._topic, p, offset) for p, offset in self._next.items()])
        self.running: Future[None] = Future()

    def run(self) -> None:
        """Follow until told to finish, then to the end of the topic; everything is in the database afterwards."""
        error: BaseException | None = None
        for number, sink in enumerate((self._results, self._offsets)):
            sink.open(number, 0)
        self.metrics = self._results.metrics
        try:
            self._follow(self._finish.is_set)
            self._follow(self._is_at_end)
            self._save_offsets()
        except BaseException as failure:
            error = failure
            raise
        finally:
            self._results.close(error)
            self._offsets.close(error)
            self._consumer.close()

    def tell_to_finish(self) -> None:
        """Make `run` return at the end of the topic."""
        self._finish.set()

    def finish(self) -> None:
        """Return when everything is in the database; raise what `run` failed with."""
        self.tell_to_finish()
        self.running.result()

    def raise_if_failed(self) -> None:
        """Raise what `run` failed with, if it has."""
        if self.running.done():
            self.running.result()

    def _follow(self, is_over: Callable[[], bool]) -> None:
        saved_at = time.monotonic()
        while not is_over():
            # One message at a time: a call for many would wait for as many, or for its timeout.
            message = self._consumer.poll(POLL_SECONDS)
            if message is not None and is_record(message):
                self._results.process(dict.fromkeys(COLUMNS) | json.loads(message.value() or b""))
                self._next[message.partition() or 0] = (message.offset() or 0) + 1
            if time.monotonic() > saved_at + SAVE_SECONDS:
                self._save_offsets()
                saved_at = time.monotonic()

    def _save_offsets(self) -> None:
        self._results.drain()
        for partition, offset in self._next.items():
            self._offsets.process({"topic": self._topic, "partition": partition, "next_offset": offset})

    def _is_at_end(self) -> bool:
        for partition, offset in self._next.items():
            # Asked only where the end that is known is reached: the question is a round trip, and comes per record.
            if offset >= self._ends[partition]:
                place = TopicPartition(self._topic, partition)
                low, high = self._consumer.get_watermark_offsets(place, timeout=TIMEOUT_SECONDS)
                self._ends[partition] = high if low < high else 0
            if offset < self._ends[partition]:
                return False
        return True


@contextmanager
def attributed_to_postgres(bootstrap_servers: str, dsn: str, settings: Settings, partitions: int) -> Iterator[Follower]:
    """Follow `ad-attributed` with its `partitions` while the block runs, and to the end of the topic afterwards."""
    follower = Follower(bootstrap_servers, dsn, settings, partitions)
    with ThreadPoolExecutor(1, "attributed_to_postgres") as threads:
        follower.running = threads.submit(follower.run)
        try:
            yield follower
        finally:
            follower.tell_to_finish()
