"""Python processors and functions in real-time mode: equal results, restarts, errors and timers."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from threading import Condition
from typing import Any
from urllib.request import urlopen

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.tws_tester import TwsTester

from spark_rtm.realtime.failures import failure_of
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.python_state import transform_with_state, with_python
from spark_rtm.realtime.queries import QueryFailedError, stop_completely, wait_until
from tests.helpers import eventually
from tests.realtime.python_processors import REPORTS, STEPS, Reporting
from tests.realtime.python_query import DEADLINE_SECONDS, PythonQuery

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

NAMES = ("update", "forget", "append", "extend", "put", "empty", "set", "remove", "clear", "register", "delete")
HISTORIES = int(os.environ.get("RTM_HISTORIES", "15"))
"""Number of histories; acceptance runs use 1,000."""
ROWS = 5


@pytest.fixture
def reporting(spark: SparkSession, kafka: str, tmp_path: Path) -> PythonQuery:
    def transform(rows: DataFrame, ticks: DataFrame) -> DataFrame:
        return transform_with_state(rows, ["key"], Reporting(), REPORTS, ticks)

    return PythonQuery(spark, kafka, tmp_path / "checkpoint", STEPS, transform)


def histories() -> list[dict[str, Any]]:
    chance = random.Random(43)
    return [
        {
            "key": f"k{key}",
            "number": number,
            "steps": [
                {"name": chance.choice(NAMES), "a": chance.choice("xyz"), "b": chance.randrange(4)}
                for _ in range(chance.randrange(4))
            ],
        }
        for number in range(ROWS)
        for key in range(HISTORIES)
    ]


def by_row(results: list[Any]) -> dict[tuple[str, int], set[str]]:
    found = defaultdict[tuple[str, int], set[str]](set)
    for one in results:
        found[one["key"], one["number"]].add(one["report"])
    return found


def expected_of(rows: list[dict[str, Any]]) -> dict[tuple[str, int], set[str]]:
    """Return the reports for each row by key and number, from PySpark's in-memory handle."""
    tester = TwsTester(Reporting(), timeMode="ProcessingTime", outputMode="Update")
    reports = {(r["key"], r["number"]): {one.report for one in tester.test(r["key"], [Row(**r)])} for r in rows}
    return {row: found for row, found in reports.items() if found}


def test_random_histories_agree_with_micro_batch_mode(spark: SparkSession, tmp_path: Path) -> None:
    """Micro-batch mode returns the reports of plain Python, so both comparisons have the same expected result."""
    rows, source = histories(), tmp_path / "in"
    source.mkdir()
    for number, part in enumerate((rows[: len(rows) // 2], rows[len(rows) // 2 :])):
        file = source / f"{number}.json"
        file.write_text("\n".join(map(json.dumps, part)))
        os.utime(file, (number, number))  # Spark reads the oldest file first
    reader = spark.readStream.schema(STEPS).option("maxFilesPerTrigger", 1)
    keys = reader.json(str(source)).groupBy("key")
    results = keys.transformWithState(Reporting(), REPORTS, "update", "processingTime")
    writer = results.writeStream.format("parquet").option("checkpointLocation", f"{tmp_path}/checkpoint")
    query = writer.start(f"{tmp_path}/out")

    def is_read() -> bool:
        return sum(progress.numInputRows for progress in query.recentProgress) == len(rows)

    # With processing-time timers, a query with the trigger `availableNow` would run empty batches forever.
    wait_until(is_read, DEADLINE_SECONDS, "all rows", [query])
    stop_completely(spark, query)

    assert expected_of(rows) == by_row(spark.read.parquet(f"{tmp_path}/out").collect())


def test_random_histories_agree_after_stops_and_kills(reporting: PythonQuery, spark: SparkSession) -> None:
    rows = histories()
    third = len(rows) // 3
    expected = expected_of(rows)

    def has(part: list[dict[str, Any]]) -> Callable[[list[dict[str, Any]]], bool]:
        wanted = {(row["key"], row["number"]) for row in part} & expected.keys()
        return lambda results: not wanted - by_row(results).keys()

    reporting.start()
    reporting.send(*rows[:third])
    reporting.await_results(has(rows[: third // 2]))
    unsent = iter(rows[third : 2 * third])

    def is_ended() -> bool:
        # A process that dies between two batches is replaced without an error, so the query may survive one kill.
        reporting.send(*islice(unsent, 2))
        with suppress(ProcessLookupError):
            os.kill(reporting.results()[-1]["pid"], signal.SIGKILL)
        return not reporting.query.isActive

    eventually(is_ended, DEADLINE_SECONDS, "the end of the query")
    reporting.send(*unsent)
    # The error comes from the task or from a task at the other end of its shuffle, whichever fails first.
    assert reporting.query.exception() is not None

    reporting.start()
    reporting.await_results(has(rows[: third + third // 2]))
    stop_completely(spark, reporting.query)
    reporting.send(*rows[2 * third :])
    reporting.start()
    assert_real_time(reporting.query)

    assert expected == by_row(reporting.await_results(has(rows)))


def test_state_ends_timers_fire_and_errors_name_the_key(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """
    A key begins with its initial state, and a list is gone after its TTL, within the same batch.

    A due timer fires with the next tick of any key. An error in Python code makes the query fail.
    """
    initial = spark.createDataFrame([("k1", "i", 7), ("other", "j", 8)], "key string, a string, b long")

    def transform(rows: DataFrame, ticks: DataFrame) -> DataFrame:
        return transform_with_state(rows, ["key"], Reporting(ttl_ms=1_000), REPORTS, ticks, initial.coalesce(1))

    def send(key: str, number: int, step: str, a: str = "x") -> None:
        query.send({"key": key, "number": number, "steps": [{"name": step, "a": a, "b": 1}]})

    def state(number: int, step: str) -> list[Any]:
        send("k1", number, step)
        (result,) = query.await_results(lambda results: len(results) > number)[number:]
        return list(json.loads(result["report"].split(" ", 2)[2])[:2])

    query = PythonQuery(spark, kafka, tmp_path / "checkpoint", STEPS, transform)
    query.start("5 minutes")
    assert [["i", 7, []], [["x", 1]]] == state(0, "append")
    batches, ttl_ends = len(query.query.recentProgress), time.monotonic() + 1
    eventually(lambda: time.monotonic() > ttl_ends, DEADLINE_SECONDS, "the end of the TTL")
    assert ([["i", 7, []], None], batches) == (state(1, "remove"), len(query.query.recentProgress))

    for key in (keys := {f"k{key}" for key in range(8)}):
        send(key, 2, "due")

    def fired(results: list[dict[str, Any]]) -> bool:
        query.producer.produce(query.ticks, b"")
        query.producer.flush()
        return keys == {one["key"] for one in results if one["number"] == -1}

    query.await_results(fired)
    send("k1", 3, "fail", "secret")
    with pytest.raises(QueryFailedError) as failed:
        query.await_results(lambda _: False)

    error = failed.value.__cause__
    assert error
    named = "ZeroDivisionError: division by zero", "python_processors.py", "the Python code failed for the key ('k1',)"
    assert [] == [part for part in named if part not in str(error)]
    assert "secret" not in str(error)
    failure = failure_of("q", error, 0)
    assert "the Python code failed for a row" == failure.cause.what
    assert "('k1',) with ZeroDivisionError" in failure.message


def test_ticks_for_another_number_of_partitions_end_the_query(reporting: PythonQuery, spark: SparkSession) -> None:
    """`rtm resize` changes the number in the checkpoint, but not in the session."""
    reporting.start()
    reporting.send({"key": "k", "number": 0, "steps": [{"name": "clear", "a": "x", "b": 0}]})
    reporting.await_results(lambda results: len(results) == 1)
    eventually(lambda: reporting.query.lastProgress, DEADLINE_SECONDS, "a batch")
    stop_completely(spark, reporting.query)
    before = str(spark.conf.get("spark.sql.shuffle.partitions"))
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        reporting.start()
        with pytest.raises(QueryFailedError) as failed:
            reporting.await_results(lambda _: False)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)

    assert "the ticks reach 3 state partitions, but the checkpoint has 2" in str(failed.value.__cause__)
    assert "set spark.sql.shuffle.partitions to 2" in str(failed.value.__cause__)


def test_each_task_makes_one_slow_call_at_a_time(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """
    The service holds the calls of a path until as many wait as its stage has tasks.

    A function removes the rows for which it returns None.
    """
    counts = {"/2": 2, "/6": 6}
    waiting, most, changed = dict.fromkeys(counts, 0), dict.fromkeys(counts, 0), Condition()

    class Service(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with changed:
                waiting[self.path] += 1
                most[self.path] = max(most[self.path], waiting[self.path])
                changed.notify_all()
                changed.wait_for(lambda: most[self.path] >= counts[self.path], DEADLINE_SECONDS)
                waiting[self.path] -= 1
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    address = f"http://127.0.0.1:{server.server_port}"

    def called(path: str) -> Callable[[Row], Row | None]:
        return lambda row: Row(number=row.number, status=urlopen(address + path).status) if row.number else None

    def transform(rows: DataFrame, _: DataFrame) -> DataFrame:
        first = with_python(rows, called("/2"), "number long, status long")
        return with_python(first.repartition(6), called("/6"), "number long, status long")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve_forever, 0.1)
        query = PythonQuery(spark, kafka, tmp_path / "checkpoint", "number long", transform)
        query.start()
        query.send(*({"key": number, "number": number} for number in range(40)))
        results = query.await_results(lambda results: len(results) >= 39)
        assert_real_time(query.query)
        server.shutdown()

    expected = [{"number": number, "status": 200} for number in range(1, 40)]
    assert expected == sorted(results, key=lambda row: row["number"])
    assert counts == most


def test_workers_have_the_shortest_time_slice() -> None:
    """A fork inherits the slice. Systems without slices per process leave the program as it is."""
    program = (
        "import os; from pathlib import Path; from spark_rtm.realtime.python_state.__main__ import *; "
        "ask_for_short_slices(); shown = Path('/proc/self/sched'); "
        "os.fork() or print(shown.read_text() if shown.exists() else '')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    has_slices = Path("/proc/self/sched").exists() and [*map(int, os.uname().release.split(".")[:2])] >= [6, 12]
    assert (["100000"] if has_slices else []) == re.findall(r"se\.slice\s*:\s*(100000)\b", done.stdout)
