"""PySpark readers and writers for static DataFrames, which use the broker of `prove` or record the access."""

from collections.abc import Callable
from functools import partial
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter
from pyspark.sql.types import DataType, DateType, NumericType, StringType, TimestampType

from spark_rtm.prove.subjects.placeholders import file_in
from spark_rtm.prove.subjects.recorders import Options, Recording
from spark_rtm.prove.subjects.target import roots_of


class TableReader(Options, DataFrameReader):
    """
    Replaces `spark.read`.

    Two generated rows replace a missing table, if the job names its schema.
    """

    columns: Any = None

    def schema(self, schema: Any) -> Any:
        """Record the schema."""
        self.columns = schema
        return super().schema(schema)

    def load(self, path: Any = None, format: str | None = None, schema: Any = None, **options: Any) -> DataFrame:
        """Return the rows of a local topic, or read the source of the job."""
        if (format or self.noted.get("format", "")).lower() != "kafka":
            return self._here(lambda at: DataFrameReader.load(self, at, format, schema, **options), schema, path)
        self.redirect(options, is_stream=False)
        return super().load(format="kafka")

    def csv(self, path: Any, schema: Any = None, **options: Any) -> DataFrame:  # type: ignore[override]
        """Return the rows of a file."""
        return self._here(lambda at: DataFrameReader.csv(self, at, schema, **options), schema, path)

    def json(self, path: Any, schema: Any = None, **options: Any) -> DataFrame:  # type: ignore[override]
        """Return the rows of a file."""
        return self._here(lambda at: DataFrameReader.json(self, at, schema, **options), schema, path)

    def parquet(self, *paths: str, **options: Any) -> DataFrame:
        """Return the rows of files."""
        return self._here(lambda at: DataFrameReader.parquet(self, *at, **options), None, paths)

    def _here(self, read: Callable[[Any], DataFrame], schema: Any, path: Any) -> DataFrame:
        place = partial(file_in, roots_of(self.recording.job))
        try:
            return read([*map(place, path)] if isinstance(path, list | tuple) else place(path))
        except (PySparkException, Py4JJavaError):
            columns = schema or self.columns
            if columns is None:
                raise
            self.recording.absent[str(path)] = self.recording.line()
            spark = self.recording.spark
            schema = spark.createDataFrame([], columns).schema
            return spark.range(1, 3).select(
                *(_made(field.dataType).cast(field.dataType).alias(field.name) for field in schema)
            )


class TableWriter(Options, DataFrameWriter):
    """
    Replaces `DataFrame.write`.

    Kafka writes go to the broker of `prove`. Other writes would change a store of the user, so they are only recorded,
    unless the user allows side effects.
    """

    def __init__(self, frame: DataFrame) -> None:
        super().__init__(frame)

    def save(
        self, path: str | None = None, format: str | None = None, mode: str | None = None, partitionBy: Any = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """Write to the local broker, or record the write."""
        kind = format or self.noted.get("format", "parquet")
        if kind.lower() == "kafka":
            self.options(**options)
            for key, value in self.recording.redirect_write(self.noted).items():
                self.option(key, value)
            super().save(format="kafka")
        elif self.recording.may_write(kind):
            super().save(path, format, mode, partitionBy, **options)

    def saveAsTable(self, name: str, *arguments: Any, **options: Any) -> None:
        """Record the table."""
        if self.recording.may_write(f"table {name}"):
            super().saveAsTable(name, *arguments, **options)

    def insertInto(self, tableName: str, overwrite: bool | None = None) -> None:  # noqa: FBT001 - PySpark's signature
        """Record the table."""
        if self.recording.may_write(f"table {tableName}"):
            super().insertInto(tableName, overwrite)

    def jdbc(self, url: str, table: str, *arguments: Any, **options: Any) -> None:
        """Record the table, without the address, which may contain a password."""
        if self.recording.may_write(f"jdbc table {table}"):
            super().jdbc(url, table, *arguments, **options)


def _file_method(name: str) -> Any:
    def write(self: TableWriter, *arguments: Any, **options: Any) -> None:
        if self.recording.may_write(name):
            getattr(super(TableWriter, self), name)(*arguments, **options)

    return write


for _name in ("csv", "json", "orc", "parquet", "text", "xml"):
    setattr(TableWriter, _name, _file_method(_name))


class TableCreator:
    """Replaces `DataFrame.writeTo` and `mergeInto`. Methods return the writer until one writes."""

    WRITES = ("append", "create", "createOrReplace", "overwrite", "overwritePartitions", "replace", "merge")

    def __init__(self, recording: Recording, table: str) -> None:
        self._recording, self._table = recording, table

    def __getattr__(self, name: str) -> Any:
        """Record the write, or accept the setting."""
        if name in self.WRITES:
            return lambda *_, **__: self._recording.note_write(f"table {self._table}")
        return lambda *_, **__: self


def _made(kind: DataType) -> Column:
    """Return generated values for a column of a missing table."""
    if isinstance(kind, StringType):
        return F.concat(F.lit("a"), F.col("id").cast("string"))
    if isinstance(kind, DateType | TimestampType):
        return F.current_timestamp()
    return F.col("id") if isinstance(kind, NumericType) else F.lit(None)
