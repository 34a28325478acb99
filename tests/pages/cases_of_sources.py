"""
Cases for the tables of sources and sinks.

A source must support reading while the batch runs, as Kafka and `LowLatencyMemoryStream` do.
"""

import re
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaPackage
from pyspark.sql import DataFrame, Row
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StructType

from spark_rtm.realtime.queries import wait_until
from tests.pages.operator_probe import (
    DEADLINE_SECONDS,
    INPUT,
    LAST,
    Observe,
    OperatorProbe,
    in_real_time,
    once,
    starts,
    together,
    writes,
)

NOT_FOUND = ("delta", "cloudFiles", "pubsub", "pulsar")
ALL = tuple(f"{key} {number}" for key, number in INPUT)


class PythonSourceAndSink(DataSource):
    @classmethod
    def name(cls) -> str:
        return "in_python"

    def schema(self) -> str:
        return "k string"

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:  # noqa: ARG002, N802 - Spark's
        # Spark rejects the source before it reads, and the sink before it creates a writer.
        return SimpleDataSourceStreamReader()


STATE_STORE = "spark.sql.streaming.stateStore"


def _accepted(probe: OperatorProbe) -> StreamingQuery:
    probe.spark.conf.set(f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled", "false")
    probe.spark.conf.set("spark.sql.adaptive.enabled", "true")
    read = {"kafka.group.id": "cases", "kafka.fetch.max.wait.ms": "50", "kafka.isolation.level": "read_committed"}
    write = {"kafka.acks": "all", "kafka.linger.ms": "0", "kafka.bogus": "1"}
    return probe.write(probe.rows(**read), **write).outputMode("update").start()


ACCEPTED = once(starts(_accepted, *ALL))


def _source(name: str, **options: str) -> Observe:
    return writes(lambda probe: probe.spark.readStream.format(name).options(**options).load())


def _table(probe: OperatorProbe) -> DataFrame:
    path, name = probe.new_folder(), probe.target.replace("-", "_")
    probe.spark.range(1).write.parquet(path)
    probe.spark.sql(f"create table {name} using parquet location '{path}'")
    return probe.spark.readStream.table(name)


def _python_source(probe: OperatorProbe) -> DataFrame:
    probe.spark.dataSource.register(PythonSourceAndSink)
    return probe.spark.readStream.format("in_python").load()


def _low_latency_memory(probe: OperatorProbe) -> DataFrame:
    jvm, session = probe.spark._jvm, probe.spark._jsparkSession  # noqa: SLF001 - the class has no Python API
    assert jvm is not None
    streams = jvm.org.apache.spark.sql.execution.streaming
    # Spark 4.1 has the class in another package; Py4J returns a package for the name of a class that it does not find.
    found = [package.LowLatencyMemoryStream for package in (streams.sources, streams)]
    memory = next(one for one in found if not isinstance(one, JavaPackage))
    source = memory.apply(1, jvm.org.apache.spark.sql.Encoders.STRING(), session.sqlContext())
    source.addData(jvm.PythonUtils.toSeq([LAST]))
    return DataFrame(source.toDF(), probe.spark)


SOURCES = {
    '`format("kafka")`': ACCEPTED,
    "`LowLatencyMemoryStream`, for tests in Scala": writes(_low_latency_memory, LAST),
    '`format("rate")`': _source("rate"),
    '`format("rate-micro-batch")`; `format("socket")`; files, such as `readStream.text(path)`; '
    "`readStream.table(name)` of a Parquet table": together(
        _source("rate-micro-batch", rowsPerBatch="1"),
        _source("socket", host="localhost", port="1"),
        writes(lambda probe: probe.spark.readStream.text(str(probe.folder))),
        writes(_table),
    ),
    "Python `DataSource` with a stream reader": writes(_python_source),
    '`format("kinesis")`': _source("kinesis"),
    '`format("eventhubs")`': _source("eventhubs"),
    "; ".join(f'`format("{name}")`' for name in NOT_FOUND): together(*map(_source, NOT_FOUND)),
}


INTERVAL_SECONDS, TOLERANCE_SECONDS = 2, 0.1
INTERVAL = f"{INTERVAL_SECONDS} seconds"
WRITES_AT_ONCE = "runs, each row is written immediately"


def _writer(probe: OperatorProbe) -> DataStreamWriter:
    return in_real_time(probe.rows().writeStream.option("checkpointLocation", probe.new_folder()))


def _sink(name: str, mode: str = "update") -> Observe:
    return starts(
        lambda b: _writer(b).format(name).outputMode(mode).queryName("sink").option("path", b.new_folder()).start()
    )


def _python_sink(probe: OperatorProbe) -> StreamingQuery:
    # Spark looks up a sink in the session that created a DataFrame from rows last in this thread.
    probe.spark.createDataFrame([(1,)], "n int")
    probe.spark.dataSource.register(PythonSourceAndSink)
    return _writer(probe).format("in_python").start()


def delay(query: StreamingQuery, read: Callable[[], list[tuple[float, str]]], late: str, interval_seconds: int) -> str:
    """Wait for all rows, and compare their times with the end of the batch; `read` returns write times and rows."""
    try:
        wait_until(lambda: len(read()) >= len(INPUT), DEADLINE_SECONDS, "all rows", [query])
        wait_until(lambda: rows_of(query), DEADLINE_SECONDS, "the commit", [query])
    finally:
        query.stop()
    # Tasks that start late on a busy machine read the rows in a later batch.
    end = datetime.fromisoformat(rows_of(query)[0].timestamp).timestamp() + interval_seconds
    times, rows = zip(*read(), strict=True)
    if rows != ALL:
        return f"wrote {rows}"
    if min(times) > end - TOLERANCE_SECONDS:
        return f"runs, but {late}"
    return WRITES_AT_ONCE if max(times) < end else f"runs, and writes rows at {times}; the batch ends at {end}"


def rows_of(query: StreamingQuery) -> list[StreamingQueryProgress]:
    return [progress for progress in query.recentProgress if progress.numInputRows]


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

    return delay(query, read, "prints all rows of a batch at its end", INTERVAL_SECONDS)


def _observe_foreach(probe: OperatorProbe) -> str:
    log = Path(probe.new_folder())

    def write(row: Row) -> None:
        with log.open("a") as lines:
            lines.write(f"{time.time()} {row.k} {row.n}\n")

    def read() -> list[tuple[float, str]]:
        lines = log.read_text().splitlines() if log.exists() else []
        return [(float(written), row) for written, row in (line.split(" ", 1) for line in lines)]

    query = in_real_time(probe.rows().writeStream.foreach(write), INTERVAL).start()
    return delay(query, read, "small rows wait for the end of the batch", INTERVAL_SECONDS)


SINKS = {
    '`format("kafka")`': ACCEPTED,
    '`format("console")`': _observe_console,
    "`foreach(function)` in Python": _observe_foreach,
    "`foreachBatch(function)`": starts(lambda probe: _writer(probe).foreachBatch(lambda *_: None).start()),
    '`format("memory")`': _sink("memory"),
    '`format("noop")`': _sink("noop"),
    "files in output mode `append`": _sink("parquet", "append"),
    '`format("parquet")`; `toTable(name)` of a Parquet table': together(
        _sink("parquet"), starts(lambda probe: _writer(probe).toTable("nowhere"))
    ),
    "Python `DataSource` with a stream writer": starts(_python_sink),
    '`format("jdbc")`': _sink("jdbc"),
    '`format("postgresql")`': _sink("postgresql"),
    '`format("delta")`; `format("kinesis")`': together(_sink("delta"), _sink("kinesis")),
    '`format("org.apache.spark.sql.cassandra")`; `format("iceberg")`; `format("pulsar")`': together(
        _sink("org.apache.spark.sql.cassandra"), _sink("iceberg"), _sink("pulsar")
    ),
    '`outputMode("update")`': ACCEPTED,
    '`outputMode("append")`; `outputMode("complete")`; no output mode, which means `append`': together(
        starts(lambda probe: probe.write(probe.rows()).outputMode("append").start()),
        starts(lambda probe: probe.write(probe.rows().groupBy("k").count()).outputMode("complete").start()),
        starts(lambda b: b.rows().writeStream.format("console").trigger(realTime="5 minutes").start()),  # type: ignore[call-overload]
    ),
}
