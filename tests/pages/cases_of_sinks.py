"""Cases for the table of sinks and output modes: their outcome in real-time mode on OSS 4.3.0."""

import time
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import Row, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from examples.realtime.queries import wait_until
from tests.pages.cases_of_sources import ALL, NOT_FOUND
from tests.pages.operator_probe import INPUT, OperatorProbe, in_real_time
from tests.pages.outcomes import DEADLINE_SECONDS, Case, refused, together, writes

NO_UPDATE = "at start: `STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE`"
NO_MODE = "at start: `OUTPUT_MODE_NOT_SUPPORTED`"
FOREACH_SECONDS = 4


class _DiscardingWriter(DataSourceStreamWriter):
    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:  # noqa: ARG002 - Spark's signature
        return WriterCommitMessage()


class PythonSink(DataSource):
    """A minimal sink in Python."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format()`."""
        return "python_sink"

    def streamWriter(self, schema: StructType, overwrite: bool) -> _DiscardingWriter:  # noqa: ARG002, N802 - Spark's signature
        """Return a writer that discards all rows."""
        return _DiscardingWriter()


def _writer(probe: OperatorProbe) -> DataStreamWriter:
    return in_real_time(probe.rows().writeStream.option("checkpointLocation", probe.new_folder()))


def _sink(name: str, cell: str) -> Case:
    def start(probe: OperatorProbe) -> StreamingQuery:
        return _writer(probe).format(name).queryName("sink").option("path", probe.new_folder()).start()

    return refused(f'`format("{name}")`', cell, start)


def _python(probe: OperatorProbe) -> StreamingQuery:
    # Spark looks up a sink in the active session.
    SparkSession.active().dataSource.register(PythonSink)
    return _writer(probe).format("python_sink").start()


def _append_files(probe: OperatorProbe) -> StreamingQuery:
    return _writer(probe).outputMode("append").format("parquet").option("path", probe.new_folder()).start()


def _no_mode(probe: OperatorProbe) -> StreamingQuery:
    writer = probe.rows().selectExpr("k value").writeStream.format("kafka").option("topic", probe.target)
    writer = writer.options(**{"kafka.bootstrap.servers": probe.kafka, "checkpointLocation": probe.new_folder()})
    query: StreamingQuery = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
    return query


def _run_until_committed(query: StreamingQuery) -> None:
    def has_all() -> bool:
        return len(INPUT) == sum(progress.numInputRows for progress in query.recentProgress)

    try:
        wait_until(has_all, DEADLINE_SECONDS, "the commit of all rows", [query])
    finally:
        query.stop()


def _observe_console(probe: OperatorProbe) -> str:
    _run_until_committed(in_real_time(probe.rows().writeStream.format("console"), "1 second").start())
    return "runs"


def _observe_foreach(probe: OperatorProbe) -> str:
    log = Path(probe.new_folder())

    def write(row: Row) -> None:
        with log.open("a") as lines:
            lines.write(f"{time.time()} {row.k} {row.n}\n")

    writer = in_real_time(probe.rows().writeStream.foreach(write), f"{FOREACH_SECONDS} seconds")
    started = time.time()
    _run_until_committed(writer.start())
    times, rows = zip(*(line.split(" ", 1) for line in log.read_text().splitlines()), strict=True)
    is_late = min(map(float, times)) - started >= FOREACH_SECONDS / 2
    delay = "a few rows wait for the end of the batch" if is_late else "each row is written immediately"
    return f"runs, {delay}" if rows == ALL else f"wrote {rows}"


SINKS = (
    writes('`format("kafka")`', lambda probe: probe.write(probe.rows()).start(), *ALL),
    Case('`format("console")`', "runs", _observe_console),
    Case("`foreach(function)` in Python", "runs, a few rows wait for the end of the batch", _observe_foreach),
    refused(
        "`foreachBatch(function)`",
        "at start: not in allowlist: `ForeachBatchSink`",
        lambda probe: _writer(probe).foreachBatch(lambda *_: None).start(),
    ),
    _sink("memory", "at start: not in allowlist: `MemorySink`"),
    _sink("noop", "at start: not in allowlist: `NoopTable$`"),
    refused("files in output mode `append`", "at start: not in allowlist: `FileStreamSink`", _append_files),
    together(
        _sink("parquet", NO_UPDATE),
        refused("`toTable(name)` of a Parquet table", NO_UPDATE, lambda probe: _writer(probe).toTable("nowhere")),
    ),
    refused("Python `DataSource` with a stream writer", "at start: not in allowlist: `PythonTable`", _python),
    _sink("jdbc", "at start: `_LEGACY_ERROR_TEMP_2049`"),
    _sink("postgresql", NOT_FOUND),
    together(_sink("delta", NOT_FOUND), _sink("kinesis", NOT_FOUND)),
    writes('`outputMode("update")`', lambda probe: probe.write(probe.rows()).start(), *ALL),
    together(
        refused(
            '`outputMode("append")`', NO_MODE, lambda probe: probe.write(probe.rows()).outputMode("append").start()
        ),
        refused(
            '`outputMode("complete")`',
            NO_MODE,
            lambda probe: probe.write(probe.rows().groupBy("k").count()).outputMode("complete").start(),
        ),
        refused("no output mode, which means `append`", NO_MODE, _no_mode),
    ),
)
