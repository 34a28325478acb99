"""The table has the newest version of each result, even after crashes and compactions."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession

from examples.attribution.lake.__main__ import main
from examples.attribution.lake.results_to_table import SCHEMA, ParquetTable, Table, Written, start, table_of
from scripts.pack.files import ROOT
from spark_rtm.realtime.queries import QueryFailedError, stop_completely, wait_until
from tests.helpers import eventually, new_topic

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]
FORMATS = ("parquet", "delta")
Newest = dict[str, tuple[int, str]]


def send(kafka: str, topic: str, seed: int, newest: Newest, records: int = 300) -> None:
    """Send versions of 40 results in any order, each version with one value, and add the newest to `newest`."""
    chance = random.Random(seed)
    with Producer({"bootstrap.servers": kafka}) as producer:
        for _ in range(records):
            name, version = f"r{chance.randrange(40)}", chance.randrange(1_000)
            value = json.dumps({"version": version, "of": name})
            producer.produce(topic, value.encode(), name.encode())
            newest[name] = max(newest.get(name, (-1, "")), (version, value))


def rows_in(table: Table, spark: SparkSession) -> Newest:
    return {row.id: (row.version, row.value) for row in table.read(spark).collect()}


class Failing:
    """A table whose query fails once, after a batch was written and before the checkpoint records the batch."""

    def __init__(self, table: Table, fail_at: int) -> None:
        self._table, self._fail_at = table, fail_at

    def write(self, rows: DataFrame, batch_id: int) -> None:
        self._table.write(rows, batch_id)
        if batch_id == self._fail_at:
            raise RuntimeError("crash after the write")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)


@pytest.mark.parametrize("kind", FORMATS)
def test_repeated_batch_or_compaction_is_harmless(spark: SparkSession, kafka: str, tmp_path: Path, kind: str) -> None:
    topic, table, newest, written = new_topic(kafka, 2), table_of(kind, tmp_path / "table"), Newest(), list[Written]()
    checkpoint = tmp_path / "checkpoint"
    assert {} == rows_in(table, spark)
    send(kafka, topic, 1, newest)
    query = start(spark, kafka, topic, table, checkpoint, 0.1, written.append)
    wait_until(lambda: written, 60, "the first batch", [query])
    stop_completely(spark, query)
    send(kafka, topic, 2, newest)
    query = start(spark, kafka, topic, Failing(table, written[-1].batch_id + 1), checkpoint, 0.1)
    with pytest.raises(QueryFailedError, match="crash after the write"):
        wait_until(lambda: False, 60, "the crash", [query])
    table.compact()  # the batch that the query repeats is in a compacted file now
    send(kafka, topic, 3, newest)

    query = start(spark, kafka, topic, table, checkpoint, 0.1, written.append)

    wait_until(lambda: newest == rows_in(table, spark), 60, "all results", [query])
    for _ in range(2):
        table.compact()
        assert newest == rows_in(table, spark)
    stop_completely(spark, query)


def version_of(spark: SparkSession, version: int) -> DataFrame:
    return spark.createDataFrame([("r", version, f"v{version}", datetime.now(UTC))], SCHEMA)


def test_reader_of_parquet_continues_during_a_compaction_and_old_files_go(spark: SparkSession, tmp_path: Path) -> None:
    table = ParquetTable(tmp_path)
    for batch in range(3):
        table.write(version_of(spark, batch), batch)
    reader = table.read(spark)

    table.compact()

    assert ["v2"] == [row.value for row in reader.collect()]
    for batch in (3, 4):
        table.write(version_of(spark, batch), batch)
        table.compact()
    assert ["v4"] == [row.value for row in table.read(spark).collect()]
    assert ["000000003", "000000004"] == sorted(path.name for path in (tmp_path / "compacted").iterdir())
    assert ["000000004"] == [path.name for path in (tmp_path / "batches").iterdir()]


def test_incomplete_batch_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """A killed query leaves a folder without `_SUCCESS`."""
    table = ParquetTable(tmp_path)
    for batch in (0, 1):
        table.write(version_of(spark, batch), batch)
    (tmp_path / "batches/000000001/_SUCCESS").unlink()

    assert ["v0"] == [row.value for row in table.read(spark).collect()]


def test_record_without_key_or_version_is_kept(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    topic, table = new_topic(kafka, 1), table_of("parquet", tmp_path / "table")
    with Producer({"bootstrap.servers": kafka}) as producer:
        for key, value in ((None, b"no json"), (b"k", b'{"version": "x"}'), (b"tombstone", None)):
            producer.produce(topic, value, key)

    query = start(spark, kafka, topic, table, tmp_path / "checkpoint", 0.1)

    expected = {f"{topic}:0:0": (0, "no json"), "k": (0, '{"version": "x"}'), "tombstone": (0, None)}
    wait_until(lambda: expected == rows_in(table, spark), 60, "three rows", [query])
    stop_completely(spark, query)


@contextmanager
def copying(kafka: str, topic: str, kind: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    options = ["--topic", topic, "--format", kind, "--folder", str(folder / "table"), "--interval-seconds", "1"]
    command = [sys.executable, "-m", "examples.attribution.lake", *options, "--checkpoint", str(folder / "checkpoint")]
    environment = {**os.environ, "KAFKA_BOOTSTRAP_SERVERS": kafka}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("kind", FORMATS)
def test_killed_command_continues_to_its_interrupt(spark: SparkSession, kafka: str, tmp_path: Path, kind: str) -> None:
    topic, newest, table = new_topic(kafka, 2), Newest(), table_of(kind, tmp_path / "table")
    send(kafka, topic, 1, newest)
    with copying(kafka, topic, kind, tmp_path) as process:
        eventually(
            lambda: (process.stdout.readline() if process.stdout else "").startswith("batch 0: 40 rows"), 60, "batch 0"
        )
        send(kafka, topic, 2, newest)
        process.kill()
    with copying(kafka, topic, kind, tmp_path) as process:
        eventually(lambda: newest == rows_in(table, spark), 60, "all results")
        process.send_signal(signal.SIGINT)
        assert 0 == process.wait(60)


def test_command_without_servers_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setattr(sys, "argv", ["lake"])

    assert 2 == main()
    assert capsys.readouterr().err.startswith("KAFKA_BOOTSTRAP_SERVERS is not set")
