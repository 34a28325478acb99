"""
Copy the topic `ad-attributed` into PostgreSQL with a Kafka consumer; each result becomes one table row.

Each result reaches PostgreSQL milliseconds after a query writes the result to the topic. In real-time mode, OSS 4.3.0
passes rows to a Python sink seconds late, so a Kafka consumer rather than a Spark query calls the sink.
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
from examples.kafka.consumer import CONSUMER, end_offsets, is_record
from examples.sinks import PostgresUpsertSink

OFFSET_COLUMNS = {"topic": "text", "partition": "int", "next_offset": "bigint"}
SAVE_INTERVAL_SECONDS = 1.0
POLL_SECONDS = 0.1


class ResultsConsumer:
    """
    A Kafka consumer of `ad-attributed` that writes the results to PostgreSQL.

    The consumer first stores the results and then its offsets in the same database, so the offsets never skip a missing
    result. A new database, or a database restored from a backup, therefore receives all missing results.
    """

    def __init__(self, bootstrap_servers: str, dsn: str, settings: Settings, partitions: int) -> None:
        """Create the tables if they do not exist, and load the stored offsets."""
        create_tables(dsn, settings)
        connect: dict[str, Any] = dict(conninfo_to_dict(dsn))
        offsets_table = (SCHEMA, f"{results_table(settings)}_offsets")
        self._results = results_sink(connect, settings)
        self._offsets = PostgresUpsertSink(
            connect, offsets_table, ("topic", "partition"), OFFSET_COLUMNS, "next_offset"
        )
        self.metrics = self._results.metrics
        self._topic = settings.topic(ATTRIBUTED_TOPIC)
        with psycopg.connect(dsn) as connection:
            query = f"select partition, next_offset from {'.'.join(offsets_table)} where topic = %s"
            stored = connection.execute(query.encode(), [self._topic]).fetchall()
        self._next = dict.fromkeys(range(partitions), 0) | dict(stored)
        self._ends = dict.fromkeys(self._next, 0)
        self._finish = threading.Event()
        confs = {"group.id": results_table(settings), "auto.offset.reset": "earliest"}
        self._consumer = Consumer({**CONSUMER, **confs, "bootstrap.servers": bootstrap_servers})
        self._consumer.assign([TopicPartition(self._topic, p, offset) for p, offset in self._next.items()])
        self.future: Future[None] = Future()

    def run(self) -> None:
        """Consume records until `request_finish` is called, then read to the end of the topic and store all results."""
        error: BaseException | None = None
        for number, sink in enumerate((self._results, self._offsets)):
            sink.open(number, 0)
        self.metrics = self._results.metrics
        try:
            self._consume_until(self._finish.is_set)
            self._consume_until(self._is_at_end)
            self._save_offsets()
        except BaseException as failure:
            error = failure
            raise
        finally:
            self._results.close(error)
            self._offsets.close(error)
            self._consumer.close()

    def request_finish(self) -> None:
        """Make `run` return when it reaches the end of the topic."""
        self._finish.set()

    def finish(self) -> None:
        """Call `request_finish` and wait until all results are stored; if `run` failed, raise its error."""
        self.request_finish()
        self.future.result()

    def raise_if_failed(self) -> None:
        """If `run` has failed, raise its error."""
        if self.future.done():
            self.future.result()

    def _consume_until(self, is_over: Callable[[], bool]) -> None:
        saved_at = time.monotonic()
        while not is_over():
            # Poll for one message. A request for several messages would wait until all of them have arrived or the
            # timeout has passed.
            message = self._consumer.poll(POLL_SECONDS)
            if message is not None and is_record(message):
                self._results.process(dict.fromkeys(COLUMNS) | json.loads(message.value() or b""))
                self._next[message.partition() or 0] = (message.offset() or 0) + 1
            if time.monotonic() > saved_at + SAVE_INTERVAL_SECONDS:
                self._save_offsets()
                saved_at = time.monotonic()

    def _save_offsets(self) -> None:
        self._results.drain()
        for partition, offset in self._next.items():
            self._offsets.process({"topic": self._topic, "partition": partition, "next_offset": offset})

    def _is_at_end(self) -> bool:
        for partition, offset in self._next.items():
            # This method runs once per record, and each request for an end offset is a round trip to the broker. The
            # consumer therefore requests an end offset only after it has reached the last known end offset.
            if offset >= self._ends[partition]:
                place = TopicPartition(self._topic, partition)
                self._ends[partition] = end_offsets(self._consumer, [place])[self._topic, partition]
            if offset < self._ends[partition]:
                return False
        return True


@contextmanager
def attributed_to_postgres(
    bootstrap_servers: str, dsn: str, settings: Settings, partitions: int
) -> Iterator[ResultsConsumer]:
    """Consume `ad-attributed` (`partitions` partitions) while the block runs, then read to the end of the topic."""
    consumer = ResultsConsumer(bootstrap_servers, dsn, settings, partitions)
    with ThreadPoolExecutor(1, "attributed_to_postgres") as threads:
        consumer.future = threads.submit(consumer.run)
        try:
            yield consumer
        finally:
            consumer.request_finish()
