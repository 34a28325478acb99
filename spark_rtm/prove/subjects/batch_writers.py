"""Writers of PySpark for static DataFrames, which write to the broker of `prove` or only note what they would write."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.readwriter import DataFrameWriter

from spark_rtm.prove.subjects.recorders import Options, Recording


class TableWriter(Options, DataFrameWriter):
    """
    Replaces `DataFrame.write`.

    Kafka writes go to the broker of `prove`. Any other write would change a store of the user, so it is only noted,
    unless the user allows side effects.
    """

    def __init__(self, frame: DataFrame) -> None:
        """Create a writer for a static DataFrame."""
        super().__init__(frame)

    def save(
        self, path: str | None = None, format: str | None = None, mode: str | None = None, partitionBy: Any = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """Write to the local broker, or note the write."""
        kind = format or self.noted.get("format", "parquet")
        if kind.lower() == "kafka":
            self.options(**options)
            for key, value in self.recording.redirect_write(self.noted).items():
                self.option(key, value)
            super().save(format="kafka")
        elif self.recording.may_write(kind):
            super().save(path, format, mode, partitionBy, **options)

    def saveAsTable(self, name: str, *arguments: Any, **options: Any) -> None:
        """Note the table."""
        if self.recording.may_write(f"table {name}"):
            super().saveAsTable(name, *arguments, **options)

    def insertInto(self, tableName: str, overwrite: bool | None = None) -> None:  # noqa: FBT001 - PySpark's signature
        """Note the table."""
        if self.recording.may_write(f"table {tableName}"):
            super().insertInto(tableName, overwrite)

    def jdbc(self, url: str, table: str, *arguments: Any, **options: Any) -> None:
        """Note the table; the address may contain a password."""
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
    """Replaces `DataFrame.writeTo` and `mergeInto`, whose methods return the writer until one of them writes."""

    WRITES = ("append", "create", "createOrReplace", "overwrite", "overwritePartitions", "replace", "merge")

    def __init__(self, recording: Recording, table: str) -> None:
        """Create a writer that only notes the table."""
        self._recording, self._table = recording, table

    def __getattr__(self, name: str) -> Any:
        """Note the write, or accept the setting."""
        if name in self.WRITES:
            return lambda *_, **__: self._recording.note_write(f"table {self._table}")
        return lambda *_, **__: self
