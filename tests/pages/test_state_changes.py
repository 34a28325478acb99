import shutil
import tempfile
from collections.abc import Iterator
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
KEY = "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"
VALUE = "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
EVOLUTION = "STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION"
VERSIONS = "STATE_STORE_VALUE_SCHEMA_EVOLUTION_THRESHOLD_EXCEEDED"
ENCODING = "spark.sql.streaming.stateStore.encodingFormat"

COUNT = "SELECT k, count(*) AS c FROM rows GROUP BY k"
STATELESS = "SELECT k FROM rows"
BY_VALUE = "SELECT k, value, count(*) AS c FROM rows GROUP BY k, value"
WITH_MAXIMUM = "SELECT k, count(*) AS c, max(value) FROM rows GROUP BY k"
CHANGES = {
    "a column or filter is changed before or after the state": (
        "",
        "SELECT k, count(*) AS c, 1 AS y FROM (SELECT *, 1 AS x FROM rows) GROUP BY k",
        "SELECT k, count(*) AS c FROM rows WHERE value >= 0 GROUP BY k HAVING c > 0",
    ),
    "a grouping column or result is renamed": (
        *("", "SELECT key, count(*) AS number FROM (SELECT k AS key FROM rows) GROUP BY key"),
    ),
    "a watermark is added": ("", "SELECT k, count(*) AS c FROM timed GROUP BY k"),
    "`spark.sql.shuffle.partitions`": ("", COUNT),
    "a column or function is replaced by one of the same type": (
        "",
        "SELECT k, count(*) AS c FROM (SELECT 'x' AS k FROM rows) GROUP BY k",
        "SELECT k, sum(1L) AS c FROM rows GROUP BY k",
    ),
    "a grouping column or window is added or removed, or its type changes": (
        KEY,
        BY_VALUE,
        "SELECT int(k), count(*) AS c FROM rows GROUP BY int(k)",
        "SELECT k, count(*) AS c FROM rows GROUP BY k, window(timestamp, '1 minute')",
    ),
    "an aggregate is added or removed, or its type changes": (
        *(VALUE, WITH_MAXIMUM, "SELECT k, collect_list(k) AS c FROM rows GROUP BY k"),
    ),
    "a stateful operator is added, replaced or removed": (
        "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
        "SELECT k, count(*) AS c FROM unique GROUP BY k",
        "SELECT k FROM unique",
        STATELESS,
    ),
    "a source is added or removed": (
        "sources in the checkpoint offsets",
        "SELECT k, count(*) AS c FROM (SELECT k FROM rows UNION ALL SELECT k FROM others) GROUP BY k",
    ),
}
"""
For each row of the table: the condition, or an empty text, and queries that replace `COUNT`.

Where something is removed, `COUNT` also replaces the first query.
"""
Case = tuple[str, str, str, str]
CASES: list[Case] = [
    (name, COUNT, query, condition) for name, (condition, *queries) in CHANGES.items() for query in queries
]
CASES += [(name, queries[0], COUNT, condition) for name, (condition, *queries) in CHANGES.items() if "removed" in name]
CASES += [("the first stateful operator", STATELESS, COUNT, "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY")]


def rows_of(session: SparkSession) -> DataFrame:
    rows = session.readStream.format("rate-micro-batch").option("rowsPerBatch", 6).load()
    return rows.withColumn("k", F.expr("string(value % 3)"))


def session_with_views(spark: SparkSession, partitions: int = 1) -> SparkSession:
    session = prepare(spark.newSession())
    session.conf.set("spark.sql.shuffle.partitions", partitions)
    rows = rows_of(session)
    rows.createOrReplaceTempView("rows")
    rows_of(session).createOrReplaceTempView("others")
    rows.withWatermark("timestamp", "1 minute").createOrReplaceTempView("timed")
    rows.dropDuplicates(["k", "value"]).createOrReplaceTempView("unique")
    return session


def failure_of(query: DataFrame, checkpoint: Path) -> str:
    writer = query.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).outputMode("update")
    try:
        writer.trigger(once=True).start().awaitTermination(60)
    except Exception as error:  # noqa: BLE001 - `start` and a batch raise different classes
        return str(error)
    return ""


@pytest.fixture(scope="module")
def counted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkpoint = tmp_path_factory.mktemp("counted") / "checkpoint"
    assert "" == failure_of(session_with_views(spark).sql(COUNT), checkpoint)
    return checkpoint


def copy_of(checkpoint: Path, folder: Path) -> Path:
    return Path(shutil.copytree(checkpoint, folder / "copy"))


@pytest.mark.parametrize(
    ("name", "before", "after", "condition"), CASES, ids=[f"{number} {case[0]}" for number, case in enumerate(CASES)]
)
def test_change_continues_or_is_refused_as_listed(
    spark: SparkSession, counted: Path, tmp_path: Path, name: str, before: str, after: str, condition: str
) -> None:
    """The number of partitions comes from the checkpoint in all cases."""
    checkpoint = copy_of(counted, tmp_path) if before == COUNT else tmp_path / "first"
    assert before == COUNT or "" == failure_of(session_with_views(spark).sql(before), checkpoint)

    failure = failure_of(session_with_views(spark, partitions=3).sql(after), checkpoint)

    tables = markdown.tables(PAGE.read_text(encoding="utf-8"))
    [row] = [c for table in tables if "change" in table.header for _, c in table.rows if c[0].startswith(name)]
    assert condition == row[2].strip("`")
    assert ("continues" in row[1]) == (not failure), failure
    assert condition in failure
    assert not condition or condition in find(failure)[0].condition
    assert len(list(checkpoint.glob("state/0/[0-9]*"))) <= 1


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
def test_state_of_a_processor_changes_as_listed(spark: SparkSession, tmp_path: Path, encoding: str) -> None:
    """Each change continues with the value of its row or is refused as listed; a later encoding is ignored."""
    tables = markdown.tables(FORMATS.read_text(encoding="utf-8"))
    [table] = [table for table in tables if table.header[0] == "change to a state variable"]
    column = ["unsaferow", "avro"].index(encoding)
    expected = {schema: outcomes[column] for schemas in SCHEMAS.values() for schema, outcomes in schemas.items()}
    refused = {schema: condition for schema, condition in expected.items() if condition.startswith("STATE_STORE")}
    kept = {schema: value for schema, value in expected.items() if schema not in refused}
    unchanged = [BEFORE] * len(kept)
    session = prepare(spark.newSession())
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
    assert ["fails", "continues"] == [cell.partition(":")[0].partition(",")[0] for cell in [*cells.values()][-2:]]


def outcome_of(session: SparkSession, processor: Remembering, checkpoint: Path) -> list[str] | str:
    found: list[Row] = []
    keyed = (
        rows_of(session).groupBy(processor.key).transformWithState(processor, "found array<string>", "Update", "none")
    )
    writer = keyed.writeStream.foreachBatch(lambda rows, _: found.extend(rows.distinct().collect()))
    writer = writer.option("checkpointLocation", str(checkpoint)).outputMode("update")
    try:
        writer.trigger(once=True).start().awaitTermination(60)
    except Exception as error:  # noqa: BLE001 - `start` and a batch raise different classes
        return next(condition for condition in (VALUE, KEY, EVOLUTION, VERSIONS) if condition in str(error))
    [row] = found
    return list(row.found)


@pytest.mark.parametrize(
    ("query", "condition"),
    [(BY_VALUE, ""), (WITH_MAXIMUM, "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE")],
    ids=["key", "value"],
)
def test_switched_off_check_hides_the_change(
    spark: SparkSession, counted: Path, tmp_path: Path, query: str, condition: str
) -> None:
    session = session_with_views(spark)
    session.conf.set("spark.sql.streaming.stateStore.stateSchemaCheck", "false")

    failure = failure_of(session.sql(query), copy_of(counted, tmp_path))

    assert condition in failure
    assert bool(condition) == bool(failure)


@pytest.mark.timeout(240)
def test_schema_of_a_value_has_one_version_less_than_the_limit(spark: SparkSession, tmp_path: Path) -> None:
    """With a limit of 3, the schema can change twice; 16 is the default."""
    limit = "spark.sql.streaming.stateStore.valueStateSchemaEvolutionThreshold"
    session = prepare(spark.newSession())
    assert "16" == session.conf.get(limit)
    session.conf.set(limit, "3")
    session.conf.set(ENCODING, "avro")
    schemas = ["a int", "a int, b int", "a int, b int, c int", "a int, b int, c int, d int"]

    outcomes = [outcome_of(session, Remembering(schema), tmp_path / "checkpoint") for schema in schemas]

    assert [["nothing"], ["(7, None)"], ["(7, 7, None)"], VERSIONS] == outcomes
