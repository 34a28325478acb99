import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from scripts.pack import files
from spark_rtm.errors import find
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
ENCODING = "spark.sql.streaming.stateStore.encodingFormat"

Shape = Callable[[DataFrame], DataFrame]


def count(rows: DataFrame) -> DataFrame:
    return rows.groupBy("k").agg(F.count("*").alias("c"))


def with_clock(rows: DataFrame) -> DataFrame:
    return rows.withWatermark("timestamp", "1 minute")


CHANGES: dict[str, list[tuple[Shape, str]]] = {
    "a column or filter is changed before or after the state": [
        (lambda rows: count(rows.withColumn("x", F.lit(1))).withColumn("y", F.lit(1)), ""),
        (lambda rows: count(rows.where("value >= 0")).where("c > 0"), ""),
    ],
    "a grouping column or result is renamed": [
        (lambda rows: rows.withColumnRenamed("k", "key").groupBy("key").agg(F.count("*").alias("number")), "")
    ],
    "a watermark is added": [(lambda rows: count(with_clock(rows)), "")],
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


def listed() -> list[tuple[str, ...]]:
    tables = markdown.tables(PAGE.read_text(encoding="utf-8"))
    return next([cells for _, cells in table.rows] for table in tables if "change" in table.header)


@pytest.mark.parametrize(("name", "shape", "condition"), CASES, ids=[f"{n}-{c[0]}" for n, c in enumerate(CASES)])
def test_change_continues_or_is_refused_as_listed(
    session: SparkSession, counted: Path, tmp_path: Path, name: str, shape: Shape, condition: str
) -> None:
    failure = failure_of(shape(rows_of(session)), copy_of(counted, tmp_path))

    [row] = [cells for cells in listed() if cells[0].startswith(name)]
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


class Remembering(StatefulProcessor):
    def __init__(self, schema: str, value: tuple[Any, ...], *, key: str = "k", key_of_map: str = "i int"):
        """`key` is the grouping column; without `key_of_map`, the processor has no map."""
        self.schema, self.value, self.key, self.key_of_map = schema, value, key, key_of_map

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.last = handle.getValueState("last", self.schema)
        self.map = handle.getMapState("map", self.key_of_map, "v int") if self.key_of_map else None

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        last = str(tuple(self.last.get() or ())) if self.last.exists() else "nothing"
        self.last.update(self.value)
        yield Row(last=last)


class Renamed(Remembering):
    """The same processor with a different map."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.last = handle.getValueState("last", self.schema)
        self.map = handle.getMapState("another", self.key_of_map, "v int")


PROCESSORS: dict[str, list[tuple[Remembering, str, str]]] = {
    "a field is added": [(Remembering("n int, t string, z string", (1, "t", "z")), VALUE, "(7, 't', None)")],
    "a field is widened": [
        (Remembering("n long, t string", (1, "t")), VALUE, "(7, 't')"),
        (Remembering("n int", (1,)), VALUE, "(7,)"),
        (Remembering("t string, n int", ("t", 1)), VALUE, "('t', 7)"),
    ],
    "a field is renamed": [(Remembering("m int, t string", (1, "t")), "(7, 't')", "(None, 't')")],
    "a field gets another type": [(Remembering("n string, t string", ("1", "t")), VALUE, EVOLUTION)],
    "the key of a map": [
        (Remembering("n int, t string", (1, "t"), key_of_map="i string"), KEY, KEY),
        (Remembering("n int, t string", (1, "t"), key="value"), KEY, KEY),
    ],
    "a variable is added or removed": [
        (Remembering("n int, t string", (1, "t"), key_of_map=""), "(7, 't')", "(7, 't')"),
        (Renamed("n int, t string", (1, "t")), "(7, 't')", "(7, 't')"),
    ],
}


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("column", "encoding"), [(1, "unsaferow"), (2, "avro")], ids=["unsaferow", "avro"])
def test_state_of_a_processor_changes_as_listed(
    session: SparkSession, tmp_path: Path, column: int, encoding: str
) -> None:
    """Each change continues with the value of its row or is refused as listed; a later encoding is ignored."""
    session = prepare(session.newSession())
    session.conf.set(ENCODING, encoding)
    assert {"nothing"} == outcome_of(session, Remembering("n int, t string", (7, "t")), tmp_path / "first")
    session.conf.set(ENCODING, "avro")
    assert "16" == session.conf.get("spark.sql.streaming.stateStore.valueStateSchemaEvolutionThreshold")
    tables = markdown.tables(FORMATS.read_text(encoding="utf-8"))
    [table] = [table for table in tables if table.header[0] == "change to a state variable"]

    for number, (name, processor, *expected) in enumerate(
        (name, *change) for name, changes in PROCESSORS.items() for change in changes
    ):
        checkpoint = Path(shutil.copytree(tmp_path / "first", tmp_path / str(number)))
        assert {expected[column - 1]} == outcome_of(session, processor, checkpoint), (name, encoding)
        [cells] = [cells for _, cells in table.rows if cells[0].startswith(name)]
        assert ("refused" in cells[column]) == expected[column - 1].startswith("STATE_STORE")


def outcome_of(session: SparkSession, processor: Remembering, checkpoint: Path) -> set[str]:
    """Run one batch; return what the processor found in its state, or the condition of the refusal."""
    found: list[str] = []
    keyed = rows_of(session).groupBy(processor.key).transformWithState(processor, "last string", "Update", "none")
    writer = keyed.writeStream.foreachBatch(lambda rows, _: found.extend(row.last for row in rows.collect()))
    try:
        writer.option("checkpointLocation", str(checkpoint)).outputMode("update").trigger(
            once=True
        ).start().awaitTermination(60)
    except Exception as error:  # noqa: BLE001 - a start and a batch raise different classes
        return {next(condition for condition in (VALUE, KEY, EVOLUTION) if condition in str(error))}
    return set(found)


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
