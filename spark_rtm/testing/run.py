"""Run a function that maps Kafka source rows to Kafka sink rows in real-time mode, for tests."""

import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_rtm.kafka.topics import REJECT_TOPIC, ensure_topics
from spark_rtm.realtime.queries import QueryFailedError
from spark_rtm.services import run_folder
from spark_rtm.testing.records import Bytes, Received, Sent, as_sent
from spark_rtm.testing.trial import Trial, latencies_ms, new_checkpoints, read_stream, read_table

Record = Sent | Bytes | Mapping[str, Any] | tuple[Bytes, Any]
INTERVAL_MS = 1_000


@dataclass(frozen=True)
class RealTimeRun:
    """A query's output for a test's records, and its failure."""

    records: list[Received]
    """Output records in append-time order, up to a failure."""
    latencies_ms: list[int]
    """Times between the appends of each source record and its output, in order (empty if the record counts differ)."""
    error: QueryFailedError | None
    """The query's failure, or None if the query processed and committed all records."""

    def values(self, topic: str | None = None) -> list[bytes | None]:
        """Return all output values, or only those for `topic`. Raise the error if the query failed."""
        if self.error:
            raise self.error
        return [record.value for record in self.records if topic in (None, record.topic)]


def run_real_time(
    transform: Callable[..., DataFrame],
    records: Iterable[Record],
    *,
    spark: SparkSession,
    bootstrap_servers: str,
    tables: Mapping[str, Iterable[Record]] | None = None,
    partitions: int = 2,
    deadline_seconds: float = 60,
) -> RealTimeRun:
    """
    Start `transform` in real-time mode, send `records`, wait until they are committed, and return the output.

    `transform` receives a stream of Kafka source rows. Its other parameters are static DataFrames of Kafka source rows.
    `tables` maps their names to records. Raises TimeoutError after the deadline, `NotEnoughSlotsError` if the session
    has too few task slots, and RuntimeError if the broker rejects a record.
    """
    source, folder = f"rtm-test-{uuid.uuid4().hex[:12]}", new_checkpoints(run_folder())
    names = {table: f"{source}-{table}" for table in tables or {}}
    topics = [source, *names.values()]
    ensure_topics(bootstrap_servers, topics, partitions, dict.fromkeys(topics, REJECT_TOPIC))
    statics = {table: read_table(spark, bootstrap_servers, topic) for table, topic in names.items()}
    rows = transform(read_stream(spark, bootstrap_servers, source), **statics)
    trial = Trial(spark, bootstrap_servers, rows, {source: partitions}, folder)
    try:
        for table, topic in names.items():
            trial.fill(topic, map(as_sent, (tables or {})[table]))
        return _observe(trial, [as_sent(record) for record in records], deadline_seconds)
    finally:
        trial.close(*topics)
        shutil.rmtree(folder, ignore_errors=True)


def _observe(trial: Trial, records: list[Sent], deadline_seconds: float) -> RealTimeRun:
    error, sent_ms, query = None, list[int](), None
    try:
        query = trial.start("query", INTERVAL_MS)
        sent_ms = trial.send(records)
        trial.wait_for_commit(query, deadline_seconds)
    except QueryFailedError as failure:
        error = failure
    except PySparkException as failure:
        error = QueryFailedError("query", failure.getCondition(), str(failure).partition("JVM stacktrace")[0].strip())
    finally:
        if query:
            trial.stop(query)
    outputs = trial.received()
    return RealTimeRun(outputs, latencies_ms(sent_ms, outputs), error)
