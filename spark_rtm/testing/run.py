"""Run a function from Kafka source rows to Kafka sink rows in real-time mode, for a test."""

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
    """The output of a query for the records of a test, and its failure."""

    records: list[Received]
    """The output in the order of append times, up to the failure if the query failed."""
    latencies_ms: list[int]
    """Time from the append of a source record to the append of its output, in order. Empty if the numbers differ."""
    error: QueryFailedError | None
    """The failure of the query, or None if it processed and committed all records."""

    def values(self, topic: str | None = None) -> list[bytes | None]:
        """Return the values of all records, or of those for `topic`. Raise the error of a failed query."""
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

    `transform` receives a stream of Kafka source rows. Its further parameters are static DataFrames of Kafka source
    rows. `tables` maps parameter names to records.
    Raises TimeoutError after the deadline, `NotEnoughSlotsError` if the session has too few task slots, and
    RuntimeError if the broker refuses a record.
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
