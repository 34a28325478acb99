"""
The processor's results equal the replay in both languages and modes.

The tests also detect the faults of an older public demo.
"""

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.stateful_processor import TimerValues

from examples.acknowledgements.__main__ import Options, results_in, send, start, traffic
from examples.acknowledgements.matcher import (
    ACKS,
    MATCHES,
    REJECTED,
    REQUESTS,
    RESULT,
    SCALA,
    TICKS,
    Matcher,
    Result,
    matches_in_scala,
    replay,
)
from scripts.pack.files import ROOT
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.kafka.ticks import ticking
from spark_rtm.realtime.python_state import transform_with_state
from spark_rtm.realtime.queries import stop_completely, wait_until
from spark_rtm.testing.records import received

OPTIONS = Options(transactions=20, wait_ms=6_000)
REJECTS = [
    (b"{", "no transaction_id of 1 to 100 characters"),
    (b'{"transaction_id": "t0"}', "no id of 1 to 100 characters"),
]
MODES: dict[str, dict[str, str]] = {
    "real-time": {"realTime": "5 seconds"},
    "micro-batch": {"processingTime": "1 second"},
}


class Leaking(Matcher):
    """A faulty processor that keeps state without a TTL, and never clears it if the request is missing."""

    def init(self, handle: Any) -> None:
        self._handle = handle
        self._request = handle.getValueState("request", "id string, answered boolean")
        self._waiting = handle.getListState("waiting", "id string")

    def handleExpiredTimer(self, key: Any, timerValues: TimerValues, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        if self._request.exists():
            yield from super().handleExpiredTimer(key, timerValues, expiredTimerInfo)


class TimerForEachRow(Matcher):
    """A faulty processor that sets one more timer for each row."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        for row in rows:
            self._handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + 3_600_000)
            yield from super().handleInputRows(key, iter([row]), timerValues)


def in_python(processor: Matcher) -> Callable[..., DataFrame]:
    return lambda rows, ticks: transform_with_state(rows, ["transaction_id"], processor, RESULT, ticks)


def run(
    spark: SparkSession, kafka: str, matches: Callable[..., DataFrame], mode: str = "real-time"
) -> tuple[set[Result], set[Result], StreamingQuery]:
    """Run the query until its timers have fired. Return the expected and the found results, and the query."""
    prefix = f"test-{uuid.uuid4().hex[:8]}."
    with ticking(kafka, prefix + TICKS):
        query = start(spark, kafka, prefix, matches, MODES[mode])
        expected = send(kafka, prefix, OPTIONS)
        last = {result for result in expected if result[-1] == "unanswered"}
        wait_until(lambda: last <= results_in(kafka, prefix), 120, "the results of the timers", [query])
        batch = query.lastProgress.batchId if query.lastProgress else -1
        wait_until(lambda: query.lastProgress and query.lastProgress.batchId > batch + 1, 60, "two batches", [query])
        stop_completely(spark, query)
    return expected, results_in(kafka, prefix), query


def rejected_in(kafka: str, query: StreamingQuery) -> list[tuple[bytes, str]]:
    """Return the value of each rejected record, and the end of its reason."""
    records = map(received, read_topic(kafka, query.name.removesuffix(MATCHES) + REJECTED))
    found = [(record.value or b"", dict(record.headers)["reason"] or b"") for record in records]
    return sorted((value, reason.decode().rpartition(": ")[2]) for value, reason in found)


def one_row_per_call(folder: Path) -> Callable[..., DataFrame]:
    """Return the Scala processor, changed to handle only the first row of each call."""
    source = folder / "faulty.scala"
    text = SCALA.read_text().replace("package acknowledgements", "package faulty")
    source.write_text(text.replace("rows.filter", "rows.take(1).filter"))
    return partial(matches_in_scala, wait_ms=OPTIONS.wait_ms, source=source, name="faulty.Matcher")


def state_of(query: StreamingQuery) -> tuple[int, int]:
    """Return the final number of state rows, and the number of timers that the run set but did not delete."""
    operators = [operator for progress in query.recentProgress for operator in progress.stateOperators]
    timers = sum(o.customMetrics["numRegisteredTimers"] - o.customMetrics["numDeletedTimers"] for o in operators)
    return operators[-1].numRowsTotal, timers


def test_traffic_has_every_status_a_repeat_and_an_early_acknowledgement() -> None:
    """The demo's generator computes a negative number of unmatched records, so it sends none."""
    records = list(traffic(OPTIONS))

    results = replay(*([value for topic, _, value in records if topic == name] for name in (REQUESTS, ACKS)))

    assert {"matched", "unanswered", "orphan"} == {status for *_, status in results}
    topics_of = {key: [topic for topic, other, _ in records if other == key] for _, key, _ in records}
    assert any(topics.count(REQUESTS) == 2 for topics in topics_of.values())
    assert any(topics[0] == ACKS and REQUESTS in topics for topics in topics_of.values())


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.timeout(200)
def test_command_prints_no_difference_from_the_replay() -> None:
    command = [sys.executable, "-m", "examples.acknowledgements", "--transactions", "50", "--wait-ms", "2000"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False)

    assert 0 == done.returncode, done.stderr
    expected = "matched         76\nunanswered      10\norphan           8\n0 differences from the replay, which has 94"
    assert expected in done.stdout


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.timeout(300)
class TestEngine:
    @pytest.mark.parametrize("mode", MODES)
    def test_scala_processor_equals_the_replay_and_leaves_no_state(
        self, spark: SparkSession, kafka: str, mode: str
    ) -> None:
        expected, found, query = run(spark, kafka, partial(matches_in_scala, wait_ms=OPTIONS.wait_ms), mode)

        assert expected == found
        assert (0, 0) == state_of(query)
        assert REJECTS == rejected_in(kafka, query)

    def test_python_processor_equals_the_replay_and_leaves_no_state(self, spark: SparkSession, kafka: str) -> None:
        expected, found, query = run(spark, kafka, in_python(Matcher(OPTIONS.wait_ms)))

        assert expected == found
        assert (0, 0) == state_of(query)
        assert REJECTS == rejected_in(kafka, query)

    def test_faults_that_only_state_and_timers_show_are_noticed(self, spark: SparkSession, kafka: str) -> None:
        """Outputs do not show that state of an orphan acknowledgement remains, or that each row leaves a timer."""
        leaking, timing = (run(spark, kafka, in_python(each(OPTIONS.wait_ms))) for each in (Leaking, TimerForEachRow))

        orphans = {result for result in leaking[0] if result[-1] == "orphan"}
        assert (orphans, 2) == (leaking[0] - leaking[1], state_of(leaking[2])[0])
        assert timing[0] == timing[1]
        assert len(list(traffic(OPTIONS))) == state_of(timing[2])[1]

    def test_processor_that_expects_one_row_per_call_loses_rows_in_micro_batch_mode(
        self, spark: SparkSession, kafka: str, tmp_path: Path
    ) -> None:
        expected, found, _ = run(spark, kafka, one_row_per_call(tmp_path), "micro-batch")

        assert expected - found
