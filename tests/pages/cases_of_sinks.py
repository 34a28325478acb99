import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from spark_rtm.realtime.queries import wait_until
from tests.pages.cases_of_sources import ALL
from tests.pages.jobs import ends_of_batches
from tests.pages.operator_probe import INPUT, OperatorProbe, in_real_time
from tests.pages.outcomes import DEADLINE_SECONDS, Observe, starts, together, writes

INTERVAL_SECONDS, TOLERANCE_SECONDS = 4, 0.1
INTERVAL = f"{INTERVAL_SECONDS} seconds"


class _DiscardingWriter(DataSourceStreamWriter):
    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:  # noqa: ARG002 - Spark's signature
        return WriterCommitMessage()


class PythonSink(DataSource):
    @classmethod
    def name(cls) -> str:
        return "python_sink"

    def streamWriter(self, schema: StructType, overwrite: bool) -> _DiscardingWriter:  # noqa: ARG002, N802 - Spark's signature
        return _DiscardingWriter()


def _writer(probe: OperatorProbe) -> DataStreamWriter:
    return in_real_time(probe.rows().writeStream.option("checkpointLocation", probe.new_folder()))


def _sink(name: str) -> Observe:
    return starts(lambda b: _writer(b).format(name).queryName("sink").option("path", b.new_folder()).start())


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


def _outcome(query: StreamingQuery, read: Callable[[], list[tuple[float, str]]], late: str) -> str:
    """Wait for all rows, and compare their times with the end of the batch; `read` returns write times and rows."""
    try:
        wait_until(lambda: len(read()) >= len(INPUT), DEADLINE_SECONDS, "all rows", [query])
        end, *_ = ends_of_batches(query, len(INPUT), INTERVAL_SECONDS)
    finally:
        query.stop()
    times, rows = zip(*read(), strict=True)
    if rows != ALL:
        return f"wrote {rows}"
    return f"runs, but {late}" if min(times) > end - TOLERANCE_SECONDS else "runs, each row is written immediately"


def _observe_console(probe: OperatorProbe) -> str:
    log = Path(probe.new_folder())
    jvm: Any = probe.spark._jvm  # noqa: SLF001 - the console sink prints to Scala's console
    console = getattr(getattr(jvm.scala, "Console$"), "MODULE$")
    before = console.out()
    # The thread of a query inherits the console of the thread that starts the query.
    console.setOutDirect(jvm.java.io.PrintStream(str(log)))
    try:
        query = in_real_time(probe.rows().writeStream.format("console"), INTERVAL).start()
    finally:
        console.setOutDirect(before)
    seen: dict[int, float] = {}

    def read() -> list[tuple[float, str]]:
        found = re.findall(r"^\|\s*(\w+)\|\s*(\d+)\|$", log.read_text(), re.MULTILINE)
        return [(seen.setdefault(number, time.time()), " ".join(row)) for number, row in enumerate(found)]

    return _outcome(query, read, "prints all rows of a batch at its end")


def _observe_foreach(probe: OperatorProbe) -> str:
    log = Path(probe.new_folder())

    def write(row: Row) -> None:
        with log.open("a") as lines:
            lines.write(f"{time.time()} {row.k} {row.n}\n")

    def read() -> list[tuple[float, str]]:
        lines = log.read_text().splitlines() if log.exists() else []
        return [(float(written), row) for written, row in (line.split(" ", 1) for line in lines)]

    query = in_real_time(probe.rows().writeStream.foreach(write), INTERVAL).start()
    return _outcome(query, read, "small rows wait for the end of the batch")


SINKS = {
    '`format("kafka")`': writes(OperatorProbe.rows, *ALL),
    '`format("console")`': _observe_console,
    "`foreach(function)` in Python": _observe_foreach,
    "`foreachBatch(function)`": starts(lambda probe: _writer(probe).foreachBatch(lambda *_: None).start()),
    '`format("memory")`': _sink("memory"),
    '`format("noop")`': _sink("noop"),
    "files in output mode `append`": starts(_append_files),
    '`format("parquet")`; `toTable(name)` of a Parquet table': together(
        _sink("parquet"), starts(lambda probe: _writer(probe).toTable("nowhere"))
    ),
    "Python `DataSource` with a stream writer": starts(_python),
    '`format("jdbc")`': _sink("jdbc"),
    '`format("postgresql")`': _sink("postgresql"),
    '`format("delta")`; `format("kinesis")`': together(_sink("delta"), _sink("kinesis")),
    '`outputMode("update")`': writes(OperatorProbe.rows, *ALL),
    '`outputMode("append")`; `outputMode("complete")`; no output mode, which means `append`': together(
        starts(lambda probe: probe.write(probe.rows()).outputMode("append").start()),
        starts(lambda probe: probe.write(probe.rows().groupBy("k").count()).outputMode("complete").start()),
        starts(_no_mode),
    ),
}
