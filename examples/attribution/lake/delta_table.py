"""A Delta table with the newest version of each result."""

from pathlib import Path

import deltalake
from pyspark.sql import DataFrame, SparkSession

from examples.attribution.lake.results_to_table import SCHEMA


class DeltaTable:
    """
    A Delta table, written with the `deltalake` package.

    Delta's own connector for Spark, up to the newest version 4.4.0 (2026-11-28), cannot merge or read on Spark 4.3.0.
    Each batch passes through the memory of the driver, so the query limits the batch size. Only one process may write.
    """

    def __init__(self, folder: Path) -> None:
        self._path = str(folder)

    def write(self, rows: DataFrame, batch_id: int) -> None:  # noqa: ARG002, D102 - see `Table`
        data = rows.toArrow()
        if not deltalake.DeltaTable.is_deltatable(self._path):
            deltalake.DeltaTable.create(self._path, deltalake.Schema.from_arrow(data.schema))
        table = deltalake.DeltaTable(self._path)
        merge = table.merge(data, "t.id = s.id", source_alias="s", target_alias="t")
        merge.when_matched_update_all("s.version > t.version").when_not_matched_insert_all().execute()

    def compact(self) -> None:  # noqa: D102 - see `Table`
        table = deltalake.DeltaTable(self._path)
        table.optimize.compact()
        table.vacuum(dry_run=False)  # keeps the files of the last week, for readers of older versions

    def read(self, spark: SparkSession) -> DataFrame:  # noqa: D102 - see `Table`
        if not deltalake.DeltaTable.is_deltatable(self._path):
            return spark.createDataFrame([], SCHEMA)
        return spark.createDataFrame(deltalake.DeltaTable(self._path).to_pyarrow_table())
