"""The waiting times of rows in Python, Scala and Kafka, and the rows that the page's writer stores."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from scripts.pack import files
from spark_rtm.realtime.queries import stop_completely, wait_until
from spark_rtm.services.scala import scala_object
from spark_rtm.text import markdown
from tests.helpers import end_offset, kafka_rows, new_topic, produce, records_of
from tests.pages.examples import definition_of
from tests.pages.jobs import ends_of_batches

pytestmark = [pytest.mark.spark, pytest.mark.services]

PAGE = files.ROOT / "references" / "foreach.md"
INTERVAL_SECONDS = 6
ROWS = 20
TOLERANCE_SECONDS = 0.1


@dataclass(frozen=True)
class Way:
    start: Callable[[DataFrame], StreamingQuery]
    read: Callable[[], list[float]]


def started(writer: DataStreamWriter, checkpoint: Path, seconds: int = INTERVAL_SECONDS) -> StreamingQuery:
    writer = writer.option("checkpointLocation", str(checkpoint)).outputMode("update")
    query: StreamingQuery = writer.trigger(realTime=f"{seconds} seconds").start()  # type: ignore[call-overload]
    return query


def through_scala(folder: Path) -> Way:
    log, source = folder / "scala", folder / "page.scala"
    source.write_text(next(f.code for f in markdown.fences(PAGE.read_text("utf-8")) if f.language == "scala"))

    def start(rows: DataFrame) -> StreamingQuery:
        java_writer = scala_object(rows.sparkSession, source, "rows.LineWriter").of(rows._jdf, str(log))  # noqa: SLF001 - for Scala
        writer = rows.writeStream
        writer._jwrite = java_writer  # noqa: SLF001 - for Scala
        return started(writer, folder / "scala-state")

    def read() -> list[float]:
        return [float(line.split()[0]) for line in log.read_text().splitlines()] if log.exists() else []

    return Way(start, read)


def through_kafka(kafka: str, folder: Path, *, python: bool) -> Way:
    """Return the path to a Kafka topic, with or without a Python UDF that gets one row at a time."""
    target = new_topic(kafka, 1)

    def start(rows: DataFrame) -> StreamingQuery:
        if python:
            rows.sparkSession.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
            rows = rows.select(F.udf(str.upper)("value").alias("value"))
        writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", target)
        return started(writer, folder / target)

    return Way(start, lambda: [record.timestamp()[1] for record in records_of(kafka, target)])


@pytest.fixture(scope="module")
def waits(spark: SparkSession, kafka: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[float, float]]:
    """Return the first and last write of each path, in seconds after the end of its first and last batch with rows."""
    folder, source = tmp_path_factory.mktemp("waits"), new_topic(kafka, 1)
    ways = {
        "Kafka": through_kafka(kafka, folder, python=False),
        "Scala foreach": through_scala(folder),
        "Python UDF row by row": through_kafka(kafka, folder, python=True),
    }
    queries = []
    for way in ways.values():
        session = spark.newSession()
        session.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
        rows = kafka_rows(session, kafka, source).selectExpr("cast(value as string) as value")
        queries.append(way.start(rows))
    # Tasks of the first batch start late on a busy machine, so the rows belong to a later batch.
    wait_until(lambda: all(query.lastProgress for query in queries), 90, "the first batches", queries)
    produce(kafka, source, [(0, b"row")] * ROWS)
    wait_until(lambda: all(len(way.read()) >= ROWS for way in ways.values()), 90, "the rows of each way", queries)
    found = {}
    for (name, way), query in zip(ways.items(), queries, strict=True):
        ends, times = ends_of_batches(query, ROWS, INTERVAL_SECONDS), [time_ms / 1000 for time_ms in way.read()]
        found[name] = (min(times) - ends[0], max(times) - ends[-1])
    for query in queries:
        stop_completely(spark, query)
    return found


@pytest.mark.parametrize("way", ["Kafka", "Scala foreach"])
def test_row_outside_of_python_is_written_within_the_batch(waits: dict[str, tuple[float, float]], way: str) -> None:
    _, last = waits[way]

    assert last < 0


def test_row_in_python_waits_until_the_batch_ends(waits: dict[str, tuple[float, float]]) -> None:
    """No row is written before the interval of its batch has ended, although the rows arrive while it runs."""
    first, _ = waits["Python UDF row by row"]

    assert first > -TOLERANCE_SECONDS


def test_writer_of_the_page_stores_each_record_once_over_a_restart(
    spark: SparkSession, kafka: str, tmp_path: Path
) -> None:
    """Spark opens the writer for each batch; rows that a restart processes again change nothing."""
    source, store = new_topic(kafka, 1), tmp_path / "clicks.db"
    writer: Any = definition_of(PAGE, "ClickWriter")
    rows = kafka_rows(spark, kafka, source).selectExpr(
        "cast(offset as string) as src", "cast(value as string) as value"
    )
    produce(kafka, source, [(0, b"a"), (0, b"b")])

    for runs in (1, 2):
        query = started(rows.writeStream.foreach(writer(str(store))), tmp_path / "state", 2)
        wait_until(lambda: end_offset(kafka, source) == len(stored(store)), 60, "the rows", [query])
        stop_completely(spark, query)
        assert ([("0", "a"), ("1", "b"), ("2", "c")][: runs + 1]) == stored(store)
        produce(kafka, source, [(0, b"c")] if runs == 1 else [])


def test_rows_are_lost_if_open_returns_nothing(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """Spark opens the writer for each partition and batch, skips its rows, and commits them."""
    source, log = new_topic(kafka, 2), tmp_path / "calls"

    class Closed:
        def open(self, partition: int, batch: int) -> None:
            with log.open("a") as lines:
                lines.write(f"open {batch} {partition}\n")

        def process(self, row: Row) -> None:
            with log.open("a") as lines:
                lines.write(f"row {row.value}\n")

    produce(kafka, source, [(0, b"a"), (1, b"b")])
    rows = kafka_rows(spark, kafka, source)
    query = started(rows.writeStream.foreach(Closed()), tmp_path / "state", 2)
    wait_until(lambda: len(query.recentProgress) > 1, 60, "two batches", [query])
    stop_completely(spark, query)

    calls = log.read_text().splitlines()
    assert {f"open {batch} {partition}" for batch in (0, 1) for partition in (0, 1)} <= set(calls)
    assert [] == [call for call in calls if not call.startswith("open")]
    assert 2 == sum(progress.numInputRows for progress in query.recentProgress)


def stored(store: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(store) as db:
        exists = db.execute("select count(*) from sqlite_master where name = 'clicks'").fetchone()[0]
        return list(db.execute("select src, value from clicks order by src")) if exists else []
