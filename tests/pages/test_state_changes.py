import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from scripts.pack import files
from spark_rtm.commands.errors import find
from spark_rtm.text import markdown
from tests.pages.jobs import prepare

pytestmark = [pytest.mark.spark, pytest.mark.timeout(120)]

PAGE = files.ROOT / "references/state.md"
FORMATS = files.ROOT / "references/formats.md"
SCHEMA_CHECK = "spark.sql.streaming.stateStore.stateSchemaCheck"
KEY = "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"
VALUE = "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
OPERATOR = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
DIRECTORY = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
SOURCES = "sources in the checkpoint offsets"
ROW = "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE"
EVOLUTION = "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION"
VERSIONS = "STATE_STORE_VALUE_SCHEMA_EVOLUTION_THRESHOLD_EXCEEDED"
ENCODING = "spark.sql.streaming.stateStore.encodingFormat"

Shape = Callable[[DataFrame], DataFrame]


def count(rows: DataFrame) -> DataFrame:
    return rows.groupBy("k").agg(F.count("*").alias("c"))


CHANGES: dict[str, list[tuple[Shape, str]]] = {
    "a column or filter is changed before or after the state": [
        (lambda rows: count(rows.withColumn("x", F.lit(1))).withColumn("y", F.lit(1)), ""),
        (lambda rows: count(rows.where("value >= 0")).where("c > 0"), ""),
    ],
    "a grouping column or result is renamed": [
        (lambda rows: rows.withColumnRenamed("k", "key").groupBy("key").agg(F.count("*").alias("number")), "")
    ],
    "a watermark is added": [(lambda rows: count(rows.withWatermark("timestamp", "1 minute")), "")],
    "a column or function is replaced by one of the same type": [
        (lambda rows: count(rows.withColumn("k", F.lit("x"))), ""),
        (lambda rows: rows.groupBy("k").agg(F.sum(F.lit(1).cast("long")).alias("c")), ""),
    ],
    "a grouping column or window is added or removed, or its type changes": [
        (lambda rows: rows.groupBy("k", "value").agg(F.count("*").alias("c")), KEY),
        (lambda rows: rows.groupBy(F.col("k").cast("int")).agg(F.count("*").alias("c")), KEY),
        (lambda rows: rows.groupBy("k", F.window("timestamp", "1 minute")).agg(F.count("*").alias("c")), KEY),
    ],
    "an aggregate is added or removed, or its type changes": [
        (lambda rows: rows.groupBy("k").agg(F.count("*").alias("c"), F.max("value")), VALUE),
        (lambda rows: rows.groupBy("k").agg(F.collect_list("k").alias("c")), VALUE),
    ],
    "a stateful operator is added, replaced or removed": [
        (lambda rows: count(rows.dropDuplicates(["k", "value"])), OPERATOR),
        (lambda rows: rows.dropDuplicates(["k"]).select("k"), OPERATOR),
        (lambda rows: rows.select("k"), OPERATOR),
    ],
    "a source is added or removed": [(lambda rows: count(rows.union(rows_of(rows.sparkSession))), SOURCES)],
}
CASES = [(name, shape, condition) for name, changes in CHANGES.items() for shape, condition in changes]


def rows_of(session: SparkSession) -> DataFrame:
    rows = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 6).load()
    return rows.withColumn("k", F.expr("string(value % 3)"))


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    return prepare(spark.newSession())


def failure_of(query: DataFrame, checkpoint: Path) -> str:
    writer = query.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).outputMode("update")
    try:
        writer.trigger(once=True).start().awaitTermination(60)
    except Exception as error:  # noqa: BLE001 - a start and a batch raise different classes
        return str(error)
    return ""


@pytest.fixture(scope="module")
def counted(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkpoint = tmp_path_factory.mktemp("counted") / "checkpoint"
    assert "" == failure_of(count(rows_of(session)), checkpoint)
    return checkpoint


def copy_of(checkpoint: Path, folder: Path) -> Path:
    return Path(shutil.copytree(checkpoint, folder / "copy"))


@pytest.mark.parametrize(("name", "shape", "condition"), CASES, ids=[f"{n}-{c[0]}" for n, c in enumerate(CASES)])
def test_change_continues_or_is_refused_as_listed(
    session: SparkSession, counted: Path, tmp_path: Path, name: str, shape: Shape, condition: str
) -> None:
    failure = failure_of(shape(rows_of(session)), copy_of(counted, tmp_path))

    tables = markdown.tables(PAGE.read_text(encoding="utf-8"))
    [row] = [c for table in tables if "change" in table.header for _, c in table.rows if c[0].startswith(name)]
    assert condition == row[2].strip("`")
    assert ("continues" in row[1]) == (not failure)
    assert condition in failure
    assert not condition or condition in find(failure)[0].condition


@pytest.mark.parametrize("name", [name for name in CHANGES if "less" in name or "removed" in name])
def test_change_back_is_refused_too(session: SparkSession, tmp_path: Path, name: str) -> None:
    """The query with the addition runs first, and the original query is refused on its checkpoint."""
    shape, condition = CHANGES[name][0]
    assert "" == failure_of(shape(rows_of(session)), tmp_path / "first")

    assert condition in failure_of(count(rows_of(session)), tmp_path / "first")


BEFORE = "n int, t string"
SCHEMAS: dict[str, dict[str, tuple[str, str]]] = {
    "a field is added": {"n int, t string, z string": (VALUE, "(7, 't', None)")},
    "a field is widened": {
        "n long, t string": (VALUE, "(7, 't')"),
        "n int": (VALUE, "(7,)"),
        "t string, n int": (VALUE, "('t', 7)"),
    },
    "a field is renamed": {"m int, t string": ("(7, 't')", "(None, 't')")},
    "a field gets another type": {"n string, t string": (VALUE, EVOLUTION)},
}
"""For each change: the new schemas, and the outcomes for the value (7, 't') as `unsaferow` and as `avro`."""


class Remembering(StatefulProcessor):
    def __init__(self, *schemas: str, key: str = "k", map_name: str = "map", key_of_map: str = "i int"):
        """`schemas` are those of the value states; `key` is the grouping column."""
        self.schemas, self.key, self.map_name, self.key_of_map = schemas, key, map_name, key_of_map

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.values = [handle.getValueState(f"value{n}", schema) for n, schema in enumerate(self.schemas)]
        self.map = handle.getMapState(self.map_name, self.key_of_map, "v int")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        found = [str(tuple(value.get() or ())) if value.exists() else "nothing" for value in self.values]
        for value, schema in zip(self.values, self.schemas, strict=True):
            value.update(tuple("t" if field.endswith("string") else 7 for field in schema.split(", ")))
        yield Row(found=found)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("encoding", ["unsaferow", "avro"])
def test_state_of_a_processor_changes_as_listed(session: SparkSession, tmp_path: Path, encoding: str) -> None:
    """Each change continues with the value of its row or is refused as listed; a later encoding is ignored."""
    tables = markdown.tables(FORMATS.read_text(encoding="utf-8"))
    [table] = [table for table in tables if table.header[0] == "change to a state variable"]
    column = ["unsaferow", "avro"].index(encoding)
    expected = {schema: outcomes[column] for schemas in SCHEMAS.values() for schema, outcomes in schemas.items()}
    refused = {schema: condition for schema, condition in expected.items() if condition.startswith("STATE_STORE")}
    kept = {schema: value for schema, value in expected.items() if schema not in refused}
    unchanged = [BEFORE] * len(kept)
    session = prepare(session.newSession())
    session.conf.set(ENCODING, encoding)
    assert ["nothing"] * len(kept) == outcome_of(session, Remembering(*unchanged), tmp_path / "first")
    session.conf.set(ENCODING, "avro")

    def outcome_after_change(processor: Remembering) -> list[str] | str:
        return outcome_of(session, processor, copy_of(tmp_path / "first", Path(tempfile.mkdtemp(dir=tmp_path))))

    # The variable `map` is removed, and `another` is added.
    assert [*kept.values()] == outcome_after_change(Remembering(*kept, map_name="another"))
    for schema, condition in refused.items():
        assert condition == outcome_after_change(Remembering(schema, *unchanged[1:])), (schema, encoding)
    for change in ({"key_of_map": "i string"}, {"key": "value"}):
        assert KEY == outcome_after_change(Remembering(*unchanged, **change))
    cells = {row[0]: row[column + 1] for _, row in table.rows}
    for name, schemas in SCHEMAS.items():
        [cell] = [cell for change, cell in cells.items() if change.startswith(name)]
        assert ("fails" in cell) == (not schemas.keys().isdisjoint(refused))
    *_, (key_change, key_cell), (variable_change, variable_cell) = cells.items()
    assert ("the key", "a variable") == (key_change[:7], variable_change[:10])
    assert (True, "continues") == ("fails" in key_cell, variable_cell)


def outcome_of(session: SparkSession, processor: Remembering, checkpoint: Path) -> list[str] | str:
    """Run one batch; return what the processor found in its states, or the condition of the refusal."""
    found: list[Row] = []
    keyed = (
        rows_of(session).groupBy(processor.key).transformWithState(processor, "found array<string>", "Update", "none")
    )
    writer = keyed.writeStream.foreachBatch(lambda rows, _: found.extend(rows.distinct().collect()))
    writer = writer.option("checkpointLocation", str(checkpoint)).outputMode("update")
    try:
        writer.trigger(once=True).start().awaitTermination(60)
    except Exception as error:  # noqa: BLE001 - a start and a batch raise different classes
        return next(condition for condition in (VALUE, KEY, EVOLUTION, VERSIONS) if condition in str(error))
    [row] = found
    return list(row.found)


def test_number_of_partitions_comes_from_the_checkpoint(session: SparkSession, counted: Path, tmp_path: Path) -> None:
    checkpoint = copy_of(counted, tmp_path)
    partitions = len(list(checkpoint.glob("state/0/[0-9]*")))
    session.conf.set("spark.sql.shuffle.partitions", partitions + 3)

    failure = failure_of(count(rows_of(session)), checkpoint)

    session.conf.set("spark.sql.shuffle.partitions", partitions)
    assert "" == failure
    assert partitions == len(list(checkpoint.glob("state/0/[0-9]*")))


def test_first_stateful_operator_is_refused(session: SparkSession, tmp_path: Path) -> None:
    """A query that began without state cannot get state."""
    checkpoint = tmp_path / "stateless"
    assert "" == failure_of(rows_of(session).select("k"), checkpoint)

    assert DIRECTORY in failure_of(count(rows_of(session)), checkpoint)


@pytest.mark.parametrize(("columns", "condition"), [(["k", "value"], ""), (["k"], ROW)], ids=["key", "value"])
def test_switched_off_check_hides_the_change(
    session: SparkSession, counted: Path, tmp_path: Path, columns: list[str], condition: str
) -> None:
    aggregates = [F.count("*").alias("c"), *([F.max("value")] if condition else [])]
    session.conf.set(SCHEMA_CHECK, "false")

    failure = failure_of(rows_of(session).groupBy(*columns).agg(*aggregates), copy_of(counted, tmp_path))

    session.conf.unset(SCHEMA_CHECK)
    assert condition in failure
    assert bool(condition) == bool(failure)


@pytest.mark.timeout(240)
def test_schema_of_a_value_has_one_version_less_than_the_limit(session: SparkSession, tmp_path: Path) -> None:
    """With a limit of 3, the schema can change twice; 16 is the default."""
    limit = "spark.sql.streaming.stateStore.valueStateSchemaEvolutionThreshold"
    session = prepare(session.newSession())
    assert "16" == session.conf.get(limit)
    session.conf.set(limit, "3")
    session.conf.set(ENCODING, "avro")
    schemas = ["a int", "a int, b int", "a int, b int, c int", "a int, b int, c int, d int"]

    outcomes = [outcome_of(session, Remembering(schema), tmp_path / "checkpoint") for schema in schemas]

    assert [["nothing"], ["(7, None)"], ["(7, 7, None)"], VERSIONS] == outcomes
