"""How long rows wait on their way through Python, Scala and Kafka, and what the writer of the page stores."""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from examples.realtime.queries import stop_completely, wait_until
from examples.services.scala import scala_object
from scripts.pack import files
from scripts.text import markdown
from tests.helpers import end_offset, new_topic, produce, records_of
from tests.pages.examples import definition_of

pytestmark = [pytest.mark.spark, pytest.mark.services]

PAGE = files.ROOT / "references" / "foreach.md"
INTERVAL_SECONDS = 6
ROWS = 20
# The JVM reads the clock when it projects the row, so the delay contains no start-up time of the query.
READ = "concat_ws(' ', reflect('java.lang.System', 'currentTimeMillis'), offset) as value"


@dataclass(frozen=True)
class Way:
    """A way from the query to its target: start the query, and read pairs of write time in ms and row."""

    start: Callable[[DataFrame], StreamingQuery]
    read: Callable[[], list[tuple[float, str]]]


def started(writer: DataStreamWriter, checkpoint: Path, seconds: int = INTERVAL_SECONDS) -> StreamingQuery:
    """Start a query in real-time mode."""
    writer = writer.option("checkpointLocation", str(checkpoint)).outputMode("update")
    query: StreamingQuery = writer.trigger(realTime=f"{seconds} seconds").start()  # type: ignore[call-overload]
    return query


def lines_of(path: Path) -> list[tuple[float, str]]:
    """Return the write time and the row of each line of a file."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [(float(written_ms), row) for written_ms, row in (line.split(" ", 1) for line in lines)]


def through_python(folder: Path) -> Way:
    """Return the way through a Python function."""
    log = folder / "python"

    def write(row: Row) -> None:
        with log.open("a") as lines:
            lines.write(f"{time.time() * 1000} {row.value}\n")

    return Way(lambda rows: started(rows.writeStream.foreach(write), folder / "python-state"), lambda: lines_of(log))


def through_scala(folder: Path) -> Way:
    """Return the way through the Scala writer of the page."""
    log, source = folder / "scala", folder / "rows.scala"
    source.write_text(next(f.code for f in markdown.fences(PAGE.read_text("utf-8")) if f.language == "scala"))

    def start(rows: DataFrame) -> StreamingQuery:
        java_writer = scala_object(rows.sparkSession, source, "rows.LineWriter").of(rows._jdf, str(log))  # noqa: SLF001 - for Scala
        writer = rows.writeStream
        writer._jwrite = java_writer  # noqa: SLF001 - for Scala
        return started(writer, folder / "scala-state")

    return Way(start, lambda: lines_of(log))


def through_kafka(kafka: str, folder: Path, rows_per_batch: int | None = None) -> Way:
    """Return the way to a Kafka topic, with a Python UDF if `rows_per_batch` is set."""
    target = new_topic(kafka, 1)

    def start(rows: DataFrame) -> StreamingQuery:
        if rows_per_batch:
            rows.sparkSession.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(rows_per_batch))
            rows = rows.select(F.udf(str.upper)("value").alias("value"))
        writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", target)
        return started(writer, folder / target)

    def read() -> list[tuple[float, str]]:
        return [(record.timestamp()[1], (record.value() or b"").decode()) for record in records_of(kafka, target)]

    return Way(start, read)


@pytest.fixture(scope="module")
def delays(spark: SparkSession, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Return the longest delay in seconds of each way; all rows are in the topic when the queries start."""
    folder, source = tmp_path_factory.mktemp("delays"), new_topic(kafka, 1)
    produce(kafka, source, [(0, b"row")] * ROWS)
    ways = {
        "Kafka": through_kafka(kafka, folder),
        "Scala foreach": through_scala(folder),
        "Python foreach": through_python(folder),
        "Python UDF": through_kafka(kafka, folder, 10_000),
        "Python UDF row by row": through_kafka(kafka, folder, 1),
    }
    queries = []
    for way in ways.values():
        session = spark.newSession()
        session.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
        stream = session.readStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("subscribe", source)
        queries.append(way.start(stream.option("startingOffsets", "earliest").load().selectExpr(READ)))
    wait_until(lambda: all(len(way.read()) >= ROWS for way in ways.values()), 90, "the rows of each way", queries)
    for query in queries:
        stop_completely(spark, query)
    return {
        name: max(written_ms - int(row.split()[0]) for written_ms, row in way.read()) / 1000
        for name, way in ways.items()
    }


@pytest.mark.parametrize("way", ["Kafka", "Scala foreach"])
def test_row_outside_of_python_is_written_within_the_batch(delays: dict[str, float], way: str) -> None:
    """Rows are written while the batch runs."""
    assert delays[way] < INTERVAL_SECONDS / 2


@pytest.mark.parametrize("way", ["Python foreach", "Python UDF", "Python UDF row by row"])
def test_row_in_python_waits_until_the_batch_ends(delays: dict[str, float], way: str) -> None:
    """Rows that are read when the batch begins wait for almost the whole interval."""
    assert delays[way] > INTERVAL_SECONDS / 2


def test_writer_of_the_page_stores_each_record_once_over_a_restart(
    spark: SparkSession, kafka: str, tmp_path: Path
) -> None:
    """Spark opens the writer for each batch; rows that a restart passes again change nothing."""
    source, store = new_topic(kafka, 1), tmp_path / "clicks.db"
    writer: Any = definition_of(PAGE, "ClickWriter")
    stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("subscribe", source)
    rows = stream.option("startingOffsets", "earliest").load()
    rows = rows.selectExpr("cast(offset as string) as src", "cast(value as string) as value")
    produce(kafka, source, [(0, b"a"), (0, b"b")])

    for runs in (1, 2):
        query = started(rows.writeStream.foreach(writer(str(store))), tmp_path / "state", 2)
        wait_until(lambda: end_offset(kafka, source) == len(stored(store)), 60, "the rows", [query])
        stop_completely(spark, query)
        assert ([("0", "a"), ("1", "b"), ("2", "c")][: runs + 1]) == stored(store)
        produce(kafka, source, [(0, b"c")] if runs == 1 else [])


def stored(store: Path) -> list[tuple[str, str]]:
    """Return the rows of the table, or none if it does not exist yet."""
    with sqlite3.connect(store) as db:
        exists = db.execute("select count(*) from sqlite_master where name = 'clicks'").fetchone()[0]
        return list(db.execute("select src, value from clicks order by src")) if exists else []
