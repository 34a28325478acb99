"""
Run a streaming DataFrame with its own topics: start the query, send records, wait for the commit, read the output.

All output goes to one topic with one partition, so the output is in append-time order.
"""

import json
import tempfile
import threading
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import OFFSET_END, Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_rtm.kafka.consumer import consumer_from_start, end_offsets, rest_of
from spark_rtm.kafka.topics import REJECT_TOPIC, ensure_topics, keep_producer_times
from spark_rtm.realtime import control
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import KAFKA_SINK, stop_completely, wait_until
from spark_rtm.realtime.slots import preflight
from spark_rtm.testing.records import TOPIC_HEADER, Received, Sent, received

BLOCK = "kafka.max.block.ms"
# By default, a missing target topic would delay the failure by 60 s.
SINK = KAFKA_SINK | {BLOCK: "10000", "kafka.max.request.size": "4000000"}
MAX_SENT_BYTES = 12_000_000
# Tests verify the sink client's limit, so the topics accept larger records.
ANY_SIZE = REJECT_TOPIC | {"max.message.bytes": str(MAX_SENT_BYTES)}
FLUSH_SECONDS = 30.0
START_SECONDS = 60.0


def read_stream(spark: SparkSession, bootstrap_servers: str, topic: str) -> DataFrame:
    """Return a topic's Kafka source rows as a stream, with headers, from the first record."""
    source = spark.readStream.format(control.source_format()).option("kafka.bootstrap.servers", bootstrap_servers)
    source = source.option("includeHeaders", "true").option("startingOffsets", "earliest")
    return source.option("subscribe", topic).load()


def read_table(spark: SparkSession, bootstrap_servers: str, topic: str) -> DataFrame:
    """Return a topic's Kafka source rows as a static DataFrame."""
    source = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap_servers)
    return source.option("includeHeaders", "true").option("subscribe", topic).load()


def redirected(rows: DataFrame, target: str) -> DataFrame:
    """Return Kafka sink rows that all go to `target`, with the chosen topic in a header. Null topics stay null."""
    rows = rows.drop("partition")
    if "topic" not in rows.columns:
        return rows.withColumn("topic", F.lit(target))
    name = F.struct(F.lit(TOPIC_HEADER).alias("key"), F.col("topic").cast("binary").alias("value"))
    headers = F.array(name)
    if "headers" in rows.columns:
        headers = F.when(F.col("headers").isNull(), headers).otherwise(F.concat("headers", headers))
    return rows.withColumn("headers", headers).withColumn("topic", F.when(F.col("topic").isNotNull(), F.lit(target)))


@dataclass
class Trial:
    """A streaming DataFrame of Kafka sink rows, its source topics and its output topic."""

    spark: SparkSession
    bootstrap_servers: str
    rows: DataFrame
    partitions: Mapping[str, int]
    folder: Path
    target: str = field(default_factory=lambda: f"rtm-test-{uuid.uuid4().hex[:12]}")
    sink: Mapping[str, str] = field(default_factory=lambda: SINK)

    def __post_init__(self) -> None:
        """Create the target topic and the clients."""
        ensure_topics(self.bootstrap_servers, [self.target], 1, {self.target: ANY_SIZE})
        servers = {"bootstrap.servers": self.bootstrap_servers}
        self._producer = Producer({**servers, "linger.ms": 0, "message.max.bytes": MAX_SENT_BYTES})
        self._admin = AdminClient({**servers, "log_level": 3})
        self._consumer: Consumer = consumer_from_start(self.bootstrap_servers, {self.target: 1})
        self.ends = dict[tuple[str, int], int]()
        """The end of the sent records, by topic and partition."""

    def start(self, checkpoint: str, interval_ms: int) -> StreamingQuery:
        """Start the query in real-time mode with this checkpoint, and wait until the plan proves the mode."""
        preflight(self.spark, {"query": (self.rows, sum(self.partitions.values()))})
        writer = self.writer(checkpoint, "update")
        query: StreamingQuery = writer.trigger(realTime=f"{interval_ms} milliseconds").start()  # type: ignore[call-overload]
        try:
            assert_real_time(query)
            # Real-time mode rejects unsupported operators after the first plan exists and before the first job starts.
            wait_until(lambda: self._has_job(query), START_SECONDS, "the first job of the query", [query])
        except BaseException:
            query.stop()
            raise
        return query

    def writer(self, checkpoint: str, output_mode: str) -> DataStreamWriter:
        """Return a writer to the target topic, without a trigger."""
        writer = redirected(self.rows, self.target).writeStream.format("kafka").options(**self.sink)
        writer = writer.option("kafka.bootstrap.servers", self.bootstrap_servers)
        # The tested code may have changed the default file system.
        writer = writer.option("checkpointLocation", f"file:{self.folder / checkpoint}")
        # The query name contains no run id, because error messages quote the name.
        return writer.queryName(Path(checkpoint).name).outputMode(output_mode)

    def send(
        self,
        records: Iterable[Sent],
        topic: str = "",
        partition: int | None = None,
        rate: float = 0,
        time_ms: int = 0,
    ) -> list[int]:
        """
        Send records, spread over the partitions unless `partition` is given, and return their timestamps in ms.

        With `rate`, send this number of records per second. The timestamps are append times. After
        `use_producer_times`, they are `time_ms`, or the current time if `time_ms` is 0.
        """
        name = topic or next(iter(self.partitions))
        acknowledged, refused = list[Message](), list[KafkaError]()
        started, pause = time.monotonic(), threading.Event()
        for number, record in enumerate(records):
            if rate:
                pause.wait(max(0.0, started + number / rate - time.monotonic()))
            place = number % self.partitions[name] if partition is None else partition
            self._producer.produce(
                name,
                record.value,
                record.key,
                place,
                headers=list(record.headers),
                timestamp=time_ms,
                on_delivery=lambda error, message: refused.append(error) if error else acknowledged.append(message),
            )
            self._producer.poll(0)
        self._flush(name)
        if refused:
            raise RuntimeError(f"the broker rejected {len(refused)} records for topic {name!r}: {refused[0].str()}")
        for message in acknowledged:
            end = name, message.partition() or 0
            self.ends[end] = max(self.ends.get(end, 0), (message.offset() or 0) + 1)
        return [message.timestamp()[1] for message in acknowledged]

    def fill(self, table: str, records: Iterable[Sent]) -> None:
        """Send a table's records, which the query reads as a static DataFrame."""
        for record in records:
            self._producer.produce(table, record.value, record.key, headers=list(record.headers))
        self._flush(table)

    def replace(self, table: str, records: Iterable[Sent]) -> None:
        """Replace the records of a single-partition table."""
        self._delete_before([TopicPartition(table, 0, OFFSET_END)])
        self.fill(table, records)

    def wait_for_commit(self, query: StreamingQuery, deadline_seconds: float = 60) -> None:
        """Wait until the query has committed every sent record, and end the batch early if possible."""
        can_end = control.obeys(query)

        def is_committed() -> bool:
            if can_end and not self._is_committed(query):
                # A failing query releases its sources shortly before its exception is available.
                with suppress(control.ControlError):
                    control.commit(query, deadline_seconds)
            return self._is_committed(query)

        wait_until(is_committed, deadline_seconds, "the commit of all records", [query])

    def received(self) -> list[Received]:
        """Return the output records that have arrived since the last call."""
        return [received(message) for message in rest_of(self._consumer)]

    def use_producer_times(self) -> None:
        """Make the source topics store producer timestamps from now on, even future ones."""
        keep_producer_times(self.bootstrap_servers, self.partitions)

    def is_committed(self, offsets: Mapping[str, Mapping[str, int]]) -> bool:
        """Return whether the committed `offsets` include every sent record."""
        return all(offsets.get(topic, {}).get(str(n), 0) >= end for (topic, n), end in self.ends.items())

    def forget(self) -> None:
        """Delete all source records, so that a query with a new checkpoint starts with later records."""
        consumer = consumer_from_start(self.bootstrap_servers, self.partitions)
        try:
            ends = end_offsets(consumer, consumer.assignment())
        finally:
            consumer.close()
        places = [TopicPartition(topic, number, offset) for (topic, number), offset in ends.items() if offset]
        self._delete_before(places)
        self.ends.clear()

    def stop(self, *queries: StreamingQuery) -> None:
        """Stop queries and wait until their last task has ended."""
        stop_completely(self.spark, *queries)

    def close(self, *topics: str) -> None:
        """Close the clients, and delete the target topic and `topics`."""
        self._producer.close()
        self._consumer.close()
        for deleted in self._admin.delete_topics([self.target, *topics]).values():
            deleted.result(30)

    def _flush(self, topic: str) -> None:
        if remaining := self._producer.flush(FLUSH_SECONDS):
            raise RuntimeError(f"the broker did not accept {remaining} records for topic {topic!r} within 30 s")

    def _delete_before(self, places: list[TopicPartition]) -> None:
        for deleted in self._admin.delete_records(places).values() if places else ():
            deleted.result(FLUSH_SECONDS)

    def _has_job(self, query: StreamingQuery) -> bool:
        return bool(self.spark.sparkContext.statusTracker().getJobIdsForGroup(str(query.runId)))

    def _is_committed(self, query: StreamingQuery) -> bool:
        progress = query.lastProgress
        if progress is None:
            return not self.ends
        committed = dict[str, dict[str, int]]()
        for source in progress.sources:
            committed |= json.loads(source.endOffset or "{}")
        return self.is_committed(committed)


def latencies_ms(sent_ms: Sequence[int], outputs: Sequence[Received], per_record: Sequence[int] = ()) -> list[int]:
    """
    Return each output's latency in milliseconds: its append time minus the source record's append time.

    Outputs are matched with source records by order of arrival. `per_record` contains the number of outputs per source
    record (default: the same number for all records). Returns an empty list if the numbers do not match.
    """
    counts = list(per_record)
    if not counts and sent_ms and len(outputs) % len(sent_ms) == 0:
        counts = [len(outputs) // len(sent_ms)] * len(sent_ms)
    if len(counts) != len(sent_ms) or sum(counts) != len(outputs):
        return []
    starts = sorted(at for at, count in zip(sent_ms, counts, strict=True) for _ in range(count))
    return [max(0, end - at) for at, end in zip(starts, sorted(o.appended_ms for o in outputs), strict=True)]


def new_checkpoints(parent: Path | None = None) -> Path:
    """Create a new folder for checkpoints."""
    return Path(tempfile.mkdtemp(prefix="checkpoints-", dir=parent))
