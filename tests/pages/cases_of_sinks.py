"""
What real-time mode of OSS 4.3.0 does with sinks and output modes.

Cases leave, one for each row of the table of sinks and output modes.
Real-time mode demands a sink of its allowlist and the output mode `update`, said in so many words.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import Row, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from examples.realtime.slots import wait_until
from tests.pages.bench import INPUT, Bench, in_real_time
from tests.pages.cases_of_sources import ALL, NOT_FOUND
from tests.pages.outcomes import DEADLINE_SECONDS, Case, refused, together, writes

NO_UPDATE = "at start: `STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE`"
NO_MODE = "at start: `OUTPUT_MODE_NOT_SUPPORTED`"
FOREACH_SECONDS = 4


class _Nowhere(DataSourceStreamWriter):
    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:  # noqa: ARG002 - Spark's signature
        return WriterCommitMessage()


class PythonSink(DataSource):
    """The smallest sink in Python."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format()`."""
        return "python_sink"

    def streamWriter(self, schema: StructType, overwrite: bool) -> _Nowhere:  # noqa: ARG002, N802 - Spark's signature
        """Return a writer that drops all rows."""
        return _Nowhere()


def _plain(bench: Bench) -> DataStreamWriter:
    return in_real_time(bench.rows().writeStream.option("checkpointLocation", bench.new_folder()))


def _sink(name: str, cell: str) -> Case:
    def start(bench: Bench) -> StreamingQuery:
        return _plain(bench).format(name).queryName("sink").option("path", bench.new_folder()).start()

    return refused(f'`format("{name}")`', cell, start)


def _python(bench: Bench) -> StreamingQuery:
    # A sink is looked up in the active session.
    SparkSession.active().dataSource.register(PythonSink)
    return _plain(bench).format("python_sink").start()


def _append_files(bench: Bench) -> StreamingQuery:
    return _plain(bench).outputMode("append").format("parquet").option("path", bench.new_folder()).start()


def _no_mode(bench: Bench) -> StreamingQuery:
    writer = bench.rows().selectExpr("k value").writeStream.format("kafka").option("topic", bench.target)
    writer = writer.options(**{"kafka.bootstrap.servers": bench.kafka, "checkpointLocation": bench.new_folder()})
    query: StreamingQuery = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]
    return query


def _commit_all(query: StreamingQuery) -> None:
    def has_all() -> bool:
        return len(INPUT) == sum(progress.numInputRows for progress in query.recentProgress)

    try:
        wait_until(has_all, DEADLINE_SECONDS, "the commit of all rows", [query])
    finally:
        query.stop()


def _observe_console(bench: Bench) -> str:
    _commit_all(in_real_time(bench.rows().writeStream.format("console"), "1 second").start())
    return "runs"


def _observe_foreach(bench: Bench) -> str:
    log = Path(bench.new_folder())

    def write(row: Row) -> None:
        with log.open("a") as lines:
            lines.write(f"{time.time()} {row.k} {row.n}\n")

    writer = in_real_time(bench.rows().writeStream.foreach(write), f"{FOREACH_SECONDS} seconds")
    started = time.time()
    _commit_all(writer.start())
    times, rows = zip(*(line.split(" ", 1) for line in log.read_text().splitlines()), strict=True)
    late = min(map(float, times)) - started >= FOREACH_SECONDS / 2
    return (
        f"runs, {'a few rows wait for the end of the batch' if late else 'at once'}" if rows == ALL else f"wrote {rows}"
    )


SINKS = (
    writes('`format("kafka")`', lambda bench: bench.write(bench.rows()).start(), *ALL),
    Case('`format("console")`', "runs", _observe_console),
    Case("`foreach(function)` in Python", "runs, a few rows wait for the end of the batch", _observe_foreach),
    refused(
        "`foreachBatch(function)`",
        "at start: not allowed: `ForeachBatchSink`",
        lambda bench: _plain(bench).foreachBatch(lambda *_: None).start(),
    ),
    _sink("memory", "at start: not allowed: `MemorySink`"),
    _sink("noop", "at start: not allowed: `NoopTable$`"),
    refused("files in output mode `append`", "at start: not allowed: `FileStreamSink`", _append_files),
    together(
        _sink("parquet", NO_UPDATE),
        refused("`toTable(name)` of a Parquet table", NO_UPDATE, lambda bench: _plain(bench).toTable("nowhere")),
    ),
    refused("Python `DataSource` with a stream writer", "at start: not allowed: `PythonTable`", _python),
    _sink("jdbc", "at start: `_LEGACY_ERROR_TEMP_2049`"),
    _sink("postgresql", NOT_FOUND),
    together(_sink("delta", NOT_FOUND), _sink("kinesis", NOT_FOUND)),
    writes('`outputMode("update")`', lambda bench: bench.write(bench.rows()).start(), *ALL),
    together(
        refused(
            '`outputMode("append")`', NO_MODE, lambda bench: bench.write(bench.rows()).outputMode("append").start()
        ),
        refused(
            '`outputMode("complete")`',
            NO_MODE,
            lambda bench: bench.write(bench.rows().groupBy("k").count()).outputMode("complete").start(),
        ),
        refused("none, which means `append`", NO_MODE, _no_mode),
    ),
)
