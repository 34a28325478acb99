"""
Copy a result topic into a table, as a second query in micro-batch mode.

Real-time mode does not write tables. The first query writes its results to Kafka within milliseconds, and this query
copies them at each interval. The table has the newest version of each result. A batch that the query repeats after a
crash changes nothing.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

SCHEMA = "id string, version long, value string, appended timestamp"
"""
The result's id and version, its Kafka value as text, and the time at which Kafka appended it.

Of two rows with the same id, the row with the higher version is newer.
"""
MAX_RECORDS = 100_000
"""Records per batch, so that a backlog does not fill the memory."""
COMPACT_EVERY = 50
"""Batches between two compactions."""
DIGITS = 9
"""Digits of the name of a batch's folder, so that the names sort like the batches."""


@dataclass(frozen=True)
class Written:
    """A batch that the query has written."""

    batch_id: int
    rows: int
    p50_ms: int
    """Median time from Kafka's append of a result until the table contains the result."""
    p99_ms: int
    seconds: float
    """Duration of the write in seconds, including the compaction."""


class Table(Protocol):
    """A table that contains the newest version of each result."""

    def write(self, rows: DataFrame, batch_id: int) -> None:
        """Add rows with the columns of `SCHEMA`, at most one per id. The same batch may be written again."""

    def compact(self) -> None:
        """Merge small files. Readers find the same rows before, during and after the call."""

    def read(self, spark: SparkSession) -> DataFrame:
        """Return the newest version of each result."""


class ParquetTable:
    """
    A folder with one folder of Parquet files per batch, and one folder with all batches before the last compaction.

    A folder counts only if it contains `_SUCCESS`, which Spark writes last. A reader that started before a compaction
    can still read its files until the next compaction.
    """

    def __init__(self, folder: Path) -> None:
        self._batches, self._compacted = folder / "batches", folder / "compacted"

    def write(self, rows: DataFrame, batch_id: int) -> None:  # noqa: D102 - see `Table`
        rows.coalesce(1).write.mode("overwrite").parquet(str(self._batches / f"{batch_id:0{DIGITS}}"))

    def compact(self) -> None:  # noqa: D102 - see `Table`
        batches, compacted = complete(self._batches), complete(self._compacted)
        new = [path for path in batches if not compacted or path.name > compacted[-1].name]
        if not new:
            return
        spark = SparkSession.active()
        rows = newest(spark.read.schema(SCHEMA).parquet(*map(str, [*compacted[-1:], *new])))
        rows.coalesce(1).write.mode("overwrite").parquet(str(self._compacted / new[-1].name))
        for path in compacted[:-1]:
            shutil.rmtree(path)
        for path in batches:
            if compacted and path.name <= compacted[-1].name:
                shutil.rmtree(path)

    def read(self, spark: SparkSession) -> DataFrame:  # noqa: D102 - see `Table`
        compacted = complete(self._compacted)[-1:]
        # A batch that is repeated after the compaction is older than the compacted folder.
        paths = [
            *compacted,
            *(path for path in complete(self._batches) if not compacted or path.name > compacted[0].name),
        ]
        return newest(spark.read.schema(SCHEMA).parquet(*map(str, paths)))


def complete(folder: Path) -> list[Path]:
    """Return the folders in `folder` whose files are complete, oldest first."""
    return sorted(path.parent for path in folder.glob("*/_SUCCESS"))


def table_of(kind: str, folder: Path) -> Table:
    """Return the table of the kind `parquet` or `delta`. Only `delta` requires the `deltalake` package."""
    if kind == "parquet":
        return ParquetTable(folder)
    module: Any = import_module("examples.attribution.lake.delta_table")  # which imports this module
    table: Table = module.DeltaTable(folder)
    return table


def newest(rows: DataFrame) -> DataFrame:
    """Return one row per id: the row with the highest version."""
    return rows.groupBy("id").agg(F.max_by(F.struct(*rows.columns), "version").alias("row")).select("row.*")


def results_of(records: DataFrame) -> DataFrame:
    """
    Convert Kafka source rows to rows with the columns of `SCHEMA`.

    The id is the record's key, and the version is a JSON field of its value.

    No record is lost: a record without a key gets its position as id, and a record without a version gets version 0.
    """
    text = F.col("value").cast("string")
    version = F.expr("try_cast(get_json_object(value_text, '$.version') as bigint)")
    position = F.concat_ws(":", "topic", "partition", "offset")
    return records.withColumn("value_text", text).select(
        F.coalesce(F.col("key").cast("string"), position).alias("id"),
        F.coalesce(version, F.lit(0)).alias("version"),
        F.col("value_text").alias("value"),
        F.col("timestamp").alias("appended"),
    )


def start(
    spark: SparkSession,
    servers: str,
    topic: str,
    table: Table,
    checkpoint: Path,
    interval_seconds: float,
    on_written: Callable[[Written], object] = lambda _: None,
) -> StreamingQuery:
    """Start the query from the beginning of the topic, or from its checkpoint."""

    def write(batch: DataFrame, batch_id: int) -> None:
        began = time.time()
        rows = newest(results_of(batch)).persist()
        try:
            if not (count := rows.count()):
                return
            table.write(rows, batch_id)
            age = F.lit(time.time()) - F.col("appended").cast("double")
            (ages,) = rows.select(F.percentile(age, F.array(F.lit(0.5), F.lit(0.99))).alias("ages")).collect()
        finally:
            rows.unpersist()
        if batch_id % COMPACT_EVERY == COMPACT_EVERY - 1:
            table.compact()
        p50, p99 = (round(1000 * seconds) for seconds in ages.ages)
        on_written(Written(batch_id, count, p50, p99, time.time() - began))

    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    source = source.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", MAX_RECORDS)
    writer = source.load().writeStream.foreachBatch(write).queryName(f"{topic} to {type(table).__name__}")
    writer = writer.option("checkpointLocation", str(checkpoint))
    query: StreamingQuery = writer.trigger(processingTime=f"{interval_seconds} seconds").start()
    return query
