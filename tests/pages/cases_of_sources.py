"""
Cases for the table of sources.

A source must support reading while the batch runs, as Kafka and `LowLatencyMemoryStream` do.
"""

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StructType

from tests.pages.operator_probe import INPUT, LAST, OperatorProbe
from tests.pages.outcomes import Observe, together, writes

NOT_FOUND = ("delta", "cloudFiles", "pubsub", "pulsar")
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


def _source(name: str, **options: str) -> Observe:
    return writes(lambda probe: probe.spark.readStream.format(name).options(**options).load())


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


SOURCES = {
    '`format("kafka")`': writes(OperatorProbe.rows, *ALL),
    "`LowLatencyMemoryStream`, for tests in Scala": writes(_low_latency_memory, LAST),
    '`format("rate")`': _source("rate"),
    '`format("rate-micro-batch")`; `format("socket")`; files, such as `readStream.text(path)`; '
    "`readStream.table(name)` of a Parquet table": together(
        _source("rate-micro-batch", rowsPerBatch="1"),
        _source("socket", host="localhost", port="1"),
        writes(_files),
        writes(_table),
    ),
    "Python `DataSource` with a stream reader": writes(_python),
    '`format("kinesis")`': _source("kinesis"),
    '`format("eventhubs")`': _source("eventhubs"),
    "; ".join(f'`format("{name}")`' for name in NOT_FOUND): together(*map(_source, NOT_FOUND)),
}
