"""
Copy the topic `ad-attributed` into PostgreSQL with a Kafka consumer. The table has one row per result.

Each result reaches PostgreSQL within milliseconds. In real-time mode, OSS 4.3.0 delays rows to a Python sink by several
seconds. Therefore a Kafka consumer, not a Spark query, calls the sink.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, get_type_hints

import psycopg
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from psycopg.conninfo import conninfo_to_dict

from examples.attribution.attributed_table import (
    COLUMNS,
    OFFSETS_SUFFIX,
    SCHEMA,
    create_tables,
    results_sink,
    results_table,
)
from examples.attribution.correlation.rule import Result
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC
from spark_rtm.kafka.consumer import CONSUMER, REQUEST_TIMEOUT_SECONDS, end_offsets, is_record, json_object
from spark_rtm.kafka.continuity import NO_RESET, admin_client, first_offsets, is_temporary, topic_state
from spark_rtm.sinks import PostgresUpsertSink

LOG = logging.getLogger(__name__)
OFFSET_COLUMNS = {"topic": "text", "topic_id": "text", "partition": "int", "next_offset": "bigint"}
FIELDS = {name: field_type | None for name, field_type in get_type_hints(Result).items()}
FIELDS |= {"result_id": str, "version": int}
SAVE_INTERVAL_SECONDS = 1.0
CHECK_INTERVAL_SECONDS = 5.0
POLL_SECONDS = 0.1


class ResultsConsumer:
    """
    A Kafka consumer of `ad-attributed` that writes the results to PostgreSQL.

    The consumer stores its offsets in the same database, but only after the results that precede them. The offsets
    therefore never skip a missing result, and a new or restored database receives all missing results. The consumer
    reads new partitions from the first record.
    """

    def __init__(self, bootstrap_servers: str, dsn: str, settings: Settings) -> None:
        """
        Create missing tables, and load the stored offsets.

        Raise RuntimeError if the topic was created again, or no longer contains the records at the stored offsets.
        """
        create_tables(dsn, settings)
        connect: dict[str, Any] = dict(conninfo_to_dict(dsn))
        offsets_table = (SCHEMA, results_table(settings) + OFFSETS_SUFFIX)
        self._results = results_sink(connect, settings)
        self._offsets = PostgresUpsertSink(
            connect, offsets_table, ("topic", "partition"), OFFSET_COLUMNS, "next_offset"
        )
        self.metrics = self._results.metrics
        self.unreadable = 0
        """Number of records that were skipped because they are not results. Set up an alert for any increase."""
        topic = settings.topic(ATTRIBUTED_TOPIC)
        self._admin = admin_client(bootstrap_servers)
        self._state = topic_state(self._admin, topic)
        with psycopg.connect(dsn) as connection:
            query = f"select partition, next_offset, topic_id from {'.'.join(offsets_table)} where topic = %s"
            stored = connection.execute(query.encode(), [topic]).fetchall()
        self._state.require_id({topic_id for _, _, topic_id in stored if topic_id})
        self._finish = threading.Event()
        confs = {"group.id": results_table(settings), **NO_RESET}
        self._consumer = Consumer({**CONSUMER, **confs, "bootstrap.servers": bootstrap_servers})
        self._next = first_offsets(self._consumer, self._state, {partition: offset for partition, offset, _ in stored})
        self.future: Future[None] = Future()

    def run(self) -> None:
        """Consume until `request_finish` is called. Then read to the end of the topic, and store all results."""
        error: BaseException | None = None
        for number, sink in enumerate((self._results, self._offsets)):
            sink.open(number, 0)
        self.metrics = self._results.metrics
        try:
            self._consumer.assign([TopicPartition(self._state.topic, p, at) for p, at in self._next.items()])
            self._consume_until(self._finish.is_set)
            ends = end_offsets(self._consumer, self._consumer.assignment())
            self._consume_until(lambda: self._has_read(ends))
            self._save_offsets()
        except BaseException as failure:
            error = failure
            raise
        finally:
            self._results.close(error)
            self._offsets.close(error)
            self._consumer.close()

    def request_finish(self) -> None:
        """Make `run` return when it has reached the end of the topic."""
        self._finish.set()

    def finish(self) -> None:
        """Call `request_finish`, and wait until all results are stored. If `run` has failed, raise its error."""
        self.request_finish()
        self.future.result()

    def raise_if_failed(self) -> None:
        """If `run` has failed, raise its error."""
        if self.future.done():
            self.future.result()

    def _consume_until(self, is_over: Callable[[], bool]) -> None:
        saved_at = checked_at = time.monotonic()
        while not is_over():
            # Poll for one message. A request for several messages would wait until all of them have arrived or the
            # timeout has passed.
            message = self._consumer.poll(POLL_SECONDS)
            if message is not None and self._is_record(message):
                self._store(message)
            if time.monotonic() > saved_at + SAVE_INTERVAL_SECONDS:
                self._save_offsets()
                saved_at = time.monotonic()
            if time.monotonic() > checked_at + CHECK_INTERVAL_SECONDS:
                self._check_topic()
                checked_at = time.monotonic()

    def _is_record(self, message: Message) -> bool:
        try:
            return is_record(message)
        except KafkaException as error:
            if error.args[0].code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001 - its documented name
                first_offsets(self._consumer, self._state, self._next)  # raises an error that lists the lost records
            raise

    def _has_read(self, ends: dict[tuple[str, int], int]) -> bool:
        # Only positions pass the markers of transactions, but they are negative before a partition's first record.
        positions = {at.partition: at.offset for at in self._consumer.position(self._consumer.assignment())}
        return all(max(positions[number], self._next[number]) >= end for (_, number), end in ends.items())

    def _store(self, message: Message) -> None:
        partition, offset = message.partition() or 0, message.offset() or 0
        row = json_object(message.value(), FIELDS)
        if row is None:
            # An error would end the consumer at this record again after each restart.
            self.unreadable += 1
            LOG.warning("skipped record %s:%d:%d, which is not a result", message.topic(), partition, offset)
        else:
            self._results.process(dict.fromkeys(COLUMNS) | row)
        self._next[partition] = offset + 1

    def _check_topic(self) -> None:
        """Start reading new partitions. Raise RuntimeError if the topic was created again."""
        try:
            state = topic_state(self._admin, self._state.topic)
            if state.partitions > self._state.partitions:
                # Without this request, the consumer can learn about new partitions minutes later.
                self._consumer.list_topics(state.topic, REQUEST_TIMEOUT_SECONDS)
        except KafkaException as error:
            if is_temporary(error):
                return
            raise
        state.require_id({self._state.topic_id})
        new = [TopicPartition(state.topic, p, 0) for p in range(self._state.partitions, state.partitions)]
        if new:
            self._consumer.incremental_assign(new)
            self._next |= {place.partition: 0 for place in new}
            self._state = state

    def _save_offsets(self) -> None:
        self._results.drain()
        place = {"topic": self._state.topic, "topic_id": self._state.topic_id}
        for partition, offset in self._next.items():
            self._offsets.process({**place, "partition": partition, "next_offset": offset})


@contextmanager
def attributed_to_postgres(bootstrap_servers: str, dsn: str, settings: Settings) -> Iterator[ResultsConsumer]:
    """Yield a consumer that runs in a thread. After the block, the consumer stops at the end of the topic."""
    consumer = ResultsConsumer(bootstrap_servers, dsn, settings)
    with ThreadPoolExecutor(1, "attributed_to_postgres") as threads:
        consumer.future = threads.submit(consumer.run)
        try:
            yield consumer
        finally:
            consumer.request_finish()
