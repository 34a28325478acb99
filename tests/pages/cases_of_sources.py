"""
Cases for the table of sources: their outcome in real-time mode on OSS 4.3.0.

A source must support reading while the batch runs, as Kafka and `LowLatencyMemoryStream` do.
"""

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StructType

from tests.pages.operator_probe import INPUT, LAST, OperatorProbe
from tests.pages.outcomes import Case, fails, runs, together

NOT_FOUND = "at start: `DATA_SOURCE_NOT_FOUND`"
NO_INPUT = "while running: `INPUT_STREAM_NOT_SUPPORTED`"
ALL = tuple(f"{key} {number}" for key, number in INPUT)

Offset = dict[str, int]


class _EmptyReader(SimpleDataSourceStreamReader):
    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return {"next": 0}

    def read(self, start: Offset) -> tuple[Iterator[tuple[str]], Offset]:
        return iter([]), start

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[tuple[str]]:  # noqa: ARG002, N802 - Spark's
        return iter([])


class PythonSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "python_source"

    def schema(self) -> str:
        return "k string"

    def simpleStreamReader(self, schema: StructType) -> _EmptyReader:  # noqa: ARG002, N802 - Spark's signature
        return _EmptyReader()


def _source(name: str, cell: str, **options: str) -> Case:
    return fails(
        f'`format("{name}")`', cell, lambda probe: probe.spark.readStream.format(name).options(**options).load()
    )


def _files(probe: OperatorProbe) -> DataFrame:
    return probe.spark.readStream.text(str(probe.folder))


def _table(probe: OperatorProbe) -> DataFrame:
    path, name = probe.new_folder(), probe.target.replace("-", "_")
    probe.spark.range(1).write.parquet(path)
    probe.spark.sql(f"create table {name} using parquet location '{path}'")
    return probe.spark.readStream.table(name)


def _python(probe: OperatorProbe) -> DataFrame:
    probe.spark.dataSource.register(PythonSource)
    return probe.spark.readStream.format("python_source").load()


def _low_latency_memory(probe: OperatorProbe) -> DataFrame:
    jvm, session = probe.spark._jvm, probe.spark._jsparkSession  # noqa: SLF001 - the class has no Python API
    assert jvm is not None
    streams = jvm.org.apache.spark.sql.execution.streaming.sources
    source = streams.LowLatencyMemoryStream.apply(session, 1, jvm.org.apache.spark.sql.Encoders.STRING())
    source.addData(jvm.PythonUtils.toSeq([LAST]))
    return DataFrame(source.toDF(), probe.spark)


SOURCES = (
    runs('`format("kafka")`', OperatorProbe.rows, *ALL),
    runs("`LowLatencyMemoryStream`, for tests in Scala", _low_latency_memory, LAST),
    _source("rate", NO_INPUT),
    together(
        _source("rate-micro-batch", NO_INPUT, rowsPerBatch="1"),
        _source("socket", NO_INPUT, host="localhost", port="1"),
        fails("files, such as `readStream.text(path)`", NO_INPUT, _files),
        fails("`readStream.table(name)` of a Parquet table", NO_INPUT, _table),
    ),
    fails("Python `DataSource` with a stream reader", NO_INPUT, _python),
    _source("kinesis", NOT_FOUND),
    _source("eventhubs", NOT_FOUND),
    together(*(_source(name, NOT_FOUND) for name in ("delta", "cloudFiles", "pubsub", "pulsar"))),
)
