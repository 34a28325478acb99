"""
What real-time mode of OSS 4.3.0 does with sources.

Cases leave, one for each row of the table of sources.
Real-time mode demands a source that can be read while the batch runs: Kafka, or one in Scala that says so.
"""

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StructType

from tests.pages.bench import INPUT, LAST, Bench
from tests.pages.outcomes import Case, fails, runs, together

NOT_FOUND = "at start: `DATA_SOURCE_NOT_FOUND`"
NO_INPUT = "later: `INPUT_STREAM_NOT_SUPPORTED`"
ALL = tuple(f"{key} {number}" for key, number in INPUT)

Offset = dict[str, int]


class _Nothing(SimpleDataSourceStreamReader):
    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's name
        return {"next": 0}

    def read(self, start: Offset) -> tuple[Iterator[tuple[str]], Offset]:
        return iter([]), start

    def readBetweenOffsets(self, start: Offset, end: Offset) -> Iterator[tuple[str]]:  # noqa: ARG002, N802 - Spark's
        return iter([])


class PythonSource(DataSource):
    """The smallest source in Python."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format()`."""
        return "python_source"

    def schema(self) -> str:
        """Return the columns."""
        return "k string"

    def simpleStreamReader(self, schema: StructType) -> _Nothing:  # noqa: ARG002, N802 - Spark's signature
        """Return a reader that has no rows."""
        return _Nothing()


def _source(name: str, cell: str, **options: str) -> Case:
    return fails(
        f'`format("{name}")`', cell, lambda bench: bench.spark.readStream.format(name).options(**options).load()
    )


def _files(bench: Bench) -> DataFrame:
    return bench.spark.readStream.text(str(bench.folder))


def _table(bench: Bench) -> DataFrame:
    path, name = bench.new_folder(), bench.target.replace("-", "_")
    bench.spark.range(1).write.parquet(path)
    bench.spark.sql(f"create table {name} using parquet location '{path}'")
    return bench.spark.readStream.table(name)


def _python(bench: Bench) -> DataFrame:
    bench.spark.dataSource.register(PythonSource)
    return bench.spark.readStream.format("python_source").load()


def _low_latency_memory(bench: Bench) -> DataFrame:
    jvm, session = bench.spark._jvm, bench.spark._jsparkSession  # noqa: SLF001 - the class has no Python form
    assert jvm is not None
    streams = jvm.org.apache.spark.sql.execution.streaming.sources
    source = streams.LowLatencyMemoryStream.apply(session, 1, jvm.org.apache.spark.sql.Encoders.STRING())
    source.addData(jvm.PythonUtils.toSeq([LAST]))
    return DataFrame(source.toDF(), bench.spark)


SOURCES = (
    runs('`format("kafka")`', Bench.rows, *ALL),
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
