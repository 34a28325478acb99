import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from scripts.pack import files
from spark_rtm.realtime.queries import stop_completely, wait_until
from spark_rtm.services.scala import scala_object
from spark_rtm.text import markdown
from tests.helpers import end_offset, kafka_rows, new_topic, produce, records_of
from tests.pages.cases_of_sources import WRITES_AT_ONCE, delay
from tests.pages.examples import definition_of
from tests.pages.operator_probe import INPUT, OperatorProbe, in_real_time, send

pytestmark = [pytest.mark.spark, pytest.mark.services]

PAGE = files.ROOT / "references" / "foreach.md"
INTERVAL_SECONDS = 6


def started(writer: DataStreamWriter, checkpoint: Path, seconds: int) -> StreamingQuery:
    writer = writer.option("checkpointLocation", str(checkpoint)).outputMode("update")
    query: StreamingQuery = writer.trigger(realTime=f"{seconds} seconds").start()  # type: ignore[call-overload]
    return query


def test_row_in_a_python_udf_waits_until_the_batch_ends(probe: OperatorProbe) -> None:
    """The UDF gets one row at a time. Without it, rows are written at once, as test_latency.py shows."""
    send(probe.kafka, probe.topic, INPUT)
    probe.spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
    probe.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1")
    rows = probe.rows().select(F.udf(lambda key: key)("k"), "n")

    def read() -> list[tuple[float, str]]:
        records = records_of(probe.kafka, probe.target)
        return [(record.timestamp()[1] / 1000, (record.value() or b"").decode()) for record in records]

    query = in_real_time(probe.write(rows), f"{INTERVAL_SECONDS} seconds").start()

    assert "runs, but late" == delay(query, read, "late", INTERVAL_SECONDS)


def test_row_in_scala_is_written_within_the_batch(probe: OperatorProbe, tmp_path: Path) -> None:
    log, source = tmp_path / "log", tmp_path / "page.scala"
    source.write_text(next(f.code for f in markdown.fences(PAGE.read_text("utf-8")) if f.language == "scala"))
    send(probe.kafka, probe.topic, INPUT)
    rows = probe.rows().selectExpr("concat(k, ' ', n) as value")
    writer = rows.writeStream
    writer._jwrite = scala_object(rows.sparkSession, source, "rows.LineWriter").of(rows._jdf, str(log))  # noqa: SLF001 - for Scala
    query = started(writer, tmp_path / "state", INTERVAL_SECONDS)

    def read() -> list[tuple[float, str]]:
        lines = log.read_text().splitlines() if log.exists() else []
        return [(float(written_ms) / 1000, row) for written_ms, row in (line.split(" ", 1) for line in lines)]

    assert WRITES_AT_ONCE == delay(query, read, "late", INTERVAL_SECONDS)


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
