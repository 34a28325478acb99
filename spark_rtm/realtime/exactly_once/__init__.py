"""
Write to Kafka exactly once: each batch of a query is one transaction per partition, committed after Spark's own commit.

A consumer with `isolation.level=read_committed` gets each result once, even if executors, drivers or brokers are
killed. With `read_uncommitted`, a consumer gets results immediately. After a restart, such a consumer gets the results
of the unfinished batch again. Spark's own Kafka sink writes at least once. `exactly_once.scala` explains the protocol.

The sink works only with Spark 4.3 and the pinned Kafka client, because it resumes the transactions of dead producers
through non-public client classes. A cluster also needs `spark.plugins` with `control.PLUGIN`.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext
from pyspark.sql.streaming.readwriter import DataStreamWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

DEFAULT_TIMEOUT_SECONDS = 900
"""Maximum transaction timeout that a broker allows by default (`transaction.max.timeout.ms`)."""


RECORD = re.compile(r"(?P<partition>\d+)-(?P<batch>\d+)-\d+-\d+-\d+")
"""Pattern for the name of the file that records an uncommitted transaction in the folder `transactions`."""


class ExactlyOnceError(RuntimeError):
    """Raised if exactly-once writes are impossible in this session, or if the brokers have aborted a transaction."""


def to_kafka(
    rows: DataFrame,
    *,
    transactional_prefix: str,
    checkpoint: str,
    options: Mapping[str, str],
    topic: str = "",
    timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS,
) -> DataStreamWriter:
    """
    Return a writer of `rows` to Kafka, with `checkpoint` as its checkpoint location.

    `rows` has the columns of Spark's Kafka sink: `value`, and optionally `key`, `headers`, `topic` and `partition`.
    `options` are Spark's Kafka sink options, such as `kafka.bootstrap.servers`. Each query needs its own
    `transactional_prefix`, which must not change. The brokers abort transactions that are open for `timeout_seconds`,
    so the timeout must be at least twice the trigger interval.

    Raises `ExactlyOnceError` if the session cannot write exactly once, and ValueError for an invalid column or option.
    `start()` commits an earlier run's open transactions, and raises `ExactlyOnceError` if the brokers reject
    transactions, or have aborted a transaction whose batch Spark has committed.
    """
    sink = _sink(transactional_prefix)
    if problem := sink.wrongColumns(rows._jdf, topic):  # noqa: SLF001 - Scala needs it
        raise ValueError(f"{problem}; the columns of the Kafka sink are key, value, headers, topic and partition")
    client = {**_client(options), "transaction.timeout.ms": str(timeout_seconds * 1000)}
    writer = _Writer(rows, sink, (transactional_prefix, checkpoint, topic, client), timeout_seconds)
    return writer.option("checkpointLocation", checkpoint)


class _Writer(DataStreamWriter):
    def __init__(
        self, rows: DataFrame, sink: Any, target: tuple[str, str, str, dict[str, str]], timeout_seconds: int
    ) -> None:
        super().__init__(rows)
        self._sink, self._target, self._timeout_seconds = sink, target, timeout_seconds
        self._jwrite = sink.writer(rows._jdf, *target)  # noqa: SLF001 - Scala needs it

    def trigger(self, **kind: Any) -> DataStreamWriter:
        """Set the trigger, whose interval must be at most half of the transaction timeout."""
        for interval in (kind.get(name) for name in ("realTime", "processingTime")):
            seconds = _seconds(interval) if interval else 0
            if 2 * seconds > self._timeout_seconds:
                raise ExactlyOnceError(
                    f"[EXACTLY_ONCE_TIMEOUT] a batch lasts {seconds:g} s, so the brokers could abort its transaction "
                    f"after the timeout of {self._timeout_seconds} s; set timeout_seconds to at least "
                    f"{2 * seconds:g}, or use a shorter trigger interval"
                )
        return super().trigger(**kind)

    def start(self, *arguments: Any, **named: Any) -> StreamingQuery:
        """Commit the previous run's transactions, and start the query."""
        session = self._df.sparkSession._jsparkSession  # noqa: SLF001 - Scala needs it
        if problem := self._sink.beforeStart(session, *self._target):
            raise ExactlyOnceError(problem)
        # By default, a stateless real-time query reports a batch and begins the next one before another thread has
        # written the logs. The batch's transaction would then be committed although a restart could repeat the batch.
        return super().start(*arguments, **{**named, "asyncProgressTrackingEnabled": "false"})


def repeat_lost(checkpoint: Path) -> str:
    """
    Prepare a restart that repeats the batches of aborted transactions, and return a message that lists the batches.

    Call this function after the error `EXACTLY_ONCE_TRANSACTION_LOST`, while no process runs the query. When the query
    starts again, it reads the records of these batches again. `checkpoint` is a local folder. If the checkpoint is in
    an object store, delete the files that this function deletes, in the same order.
    """
    newest = max((int(name) for name in _names(checkpoint / "commits") if name.isdecimal()), default=-1)
    records = [match for match in map(RECORD.fullmatch, _names(checkpoint / "transactions")) if match]
    lost = [one for one in records if int(one["batch"]) <= newest]
    if not lost:
        raise ValueError(f"no committed batch of {checkpoint} has an open transaction, so there is nothing to repeat")
    first = min(int(one["batch"]) for one in lost)
    # If this process is killed at any point, the query then repeats all of these batches or cannot start.
    for batch in range(newest, first - 1, -1):
        for log in ("commits", "offsets"):
            for name in (f"{batch}", f".{batch}.crc"):
                (checkpoint / log / name).unlink(missing_ok=True)
    if not first:
        shutil.rmtree(checkpoint / "state", ignore_errors=True)
    for one in lost:
        (checkpoint / "transactions" / one[0]).unlink()
    aborted = ", ".join(sorted({one["partition"] for one in lost if int(one["batch"]) == first}, key=int))
    return (
        f"when the query of {checkpoint} starts again, it repeats batches {first} to {newest}: it writes the missing "
        f"rows of partitions {aborted}, and writes again the rows that other partitions or later batches had committed"
    )


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def _seconds(interval: str) -> float:
    context: Any = SparkContext._active_spark_context  # noqa: SLF001 - no public API
    return float(context._jvm.org.apache.spark.sql.streaming.Trigger.ProcessingTime(interval).intervalMs()) / 1000  # noqa: SLF001


def _client(options: Mapping[str, str]) -> dict[str, str]:
    """Return the Kafka client options without their prefix."""
    if unknown := [name for name in options if not name.startswith("kafka.")]:
        raise ValueError(f"the sink does not support {unknown[0]!r}; options of the Kafka client begin with 'kafka.'")
    return {name.removeprefix("kafka."): value for name, value in options.items()}


def _sink(prefix: str) -> Any:
    subject = f"[EXACTLY_ONCE_UNSUPPORTED] the query with the prefix {prefix!r} cannot write exactly once"
    context = SparkContext._active_spark_context  # noqa: SLF001 - no public API
    if context is None:
        raise ExactlyOnceError(f"{subject} over Spark Connect; use a classic session")
    jvm: Any = context._jvm  # noqa: SLF001 - no public API
    sink = jvm.spark_rtm.exactly_once.Sink
    if type(sink).__name__ == "JavaPackage":
        raise ExactlyOnceError(
            f"{subject}, because this session lacks the classes of exactly_once.scala; run "
            "`python -m spark_rtm.services control`, and add the printed path to `spark.jars`"
        )
    if obstacle := sink.obstacle():
        raise ExactlyOnceError(f"{subject}: {obstacle}")
    return sink
