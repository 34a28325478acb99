"""PySpark readers and writers for static DataFrames, which use the local broker or record the access."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter
from pyspark.sql.types import DataType

from spark_rtm.prove.job.placeholders import file_in
from spark_rtm.prove.job.recorders import Options
from spark_rtm.prove.job.target import roots_of
from spark_rtm.prove.records.plan import NUMBERS


class TableReader(Options, DataFrameReader):
    """
    A replacement for `spark.read`.

    If a table is missing and the job specifies its schema, two generated rows replace the table.
    """

    columns: Any = None

    def schema(self, schema: Any) -> Any:
        """Record the schema."""
        self.columns = schema
        return super().schema(schema)

    def load(self, *arguments: Any, **named: Any) -> DataFrame:
        """Return a local topic's rows, or read the job's source."""
        bound = _bound(DataFrameReader.load, self, *arguments, **named).arguments
        if (bound.get("format") or self.noted.get("format", "")).lower() != "kafka":
            return self.read("load", *arguments, **named)
        self.redirect(bound.get("options", {}), is_stream=False)
        return super().load(format="kafka")

    def read(self, name: str, *arguments: Any, **named: Any) -> DataFrame:
        """Call PySpark's method `name` with paths in the job's folders, and return the rows."""
        method = getattr(DataFrameReader, name)
        bound = _bound(method, self, *arguments, **named)
        key = "paths" if "paths" in bound.signature.parameters else "path"
        path, place = bound.arguments.get(key), partial(file_in, roots_of(self.recording.job))
        bound.arguments[key] = type(path)(map(place, path)) if isinstance(path, list | tuple) else place(path)
        try:
            rows: DataFrame = method(*bound.args, **bound.kwargs)
        except (PySparkException, Py4JJavaError):
            columns = bound.arguments.get("schema") or self.columns
            if columns is None:
                raise
            self.recording.absent[str(path)] = self.recording.line()
            spark = self.recording.spark
            schema = spark.createDataFrame([], columns).schema
            return spark.range(1, 3).select(
                *(_made(field.dataType).cast(field.dataType).alias(field.name) for field in schema)
            )
        return rows


class TableWriter(Options, DataFrameWriter):
    """
    A replacement for `DataFrame.write`.

    Kafka writes go to the local broker. Other writes would change one of the user's stores (see `writes`).
    """

    def save(
        self, path: str | None = None, format: str | None = None, mode: str | None = None, partitionBy: Any = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """Write to the local broker, or record the write."""
        kind = format or self.noted.get("format", "parquet")
        if kind.lower() == "kafka":
            self.options(**options)
            self.options(**self.recording.redirect_write(self.noted))
            self.recording.may_call = True
            try:
                super().save(format="kafka")
            finally:
                self.recording.may_call = False
        elif self.recording.may_write(kind):
            super().save(path, format, mode, partitionBy, **options)


def _bound(method: Callable[..., Any], *arguments: Any, **named: Any) -> inspect.BoundArguments:
    return inspect.signature(method).bind(*arguments, **named)


def _reading(name: str) -> Any:
    return lambda reader, *arguments, **named: reader.read(name, *arguments, **named)


for _name in ("csv", "json", "parquet"):
    setattr(TableReader, _name, _reading(_name))


def _made(kind: DataType) -> Column:
    made = {"string": F.concat(F.lit("a"), F.col("id").cast("string"))}
    made |= {**dict.fromkeys(("date", "timestamp"), F.current_timestamp()), **dict.fromkeys(NUMBERS, F.col("id"))}
    return made.get(kind.typeName(), F.lit(None))
