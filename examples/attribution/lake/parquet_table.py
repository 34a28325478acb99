"""A table of Parquet files with the newest version of each result."""

import shutil
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from examples.attribution.lake.results_to_table import SCHEMA, newest

DIGITS = 9
"""Digits of the name of a batch's folder, so that the names sort like the batches."""


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
