"""Short real runs of Spark in each mode: every record gets its correct answer."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from pyspark.sql import SparkSession

from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.run import Case, run_case
from benchmarks.results.run_result import RunResult, Traffic
from benchmarks.spark.engine import spark_engine
from benchmarks.spark.queries import Mode, SparkOptions, start_queries
from spark_rtm.realtime.control import SOURCE
from tests.benchmarks.harness.checks import MEASURED_RECORDS, SHORT, VALID, assert_all_answered
from tests.helpers import end_offset

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]


@contextmanager
def queries_here(spark: SparkSession, options: SparkOptions, run: Run) -> Iterator[Engine]:
    queries = start_queries(spark, options, run, 0)
    try:
        yield Engine(())
    finally:
        for query in queries:
            query.stop()


@pytest.mark.parametrize("mode", ["async progress", "continuous"])
def test_mode_without_state_answers_every_record_once(kafka: str, spark: SparkSession, mode: Mode) -> None:
    options = SparkOptions(mode, interval_seconds=2)

    result = run_case(kafka, Case(mode, "stateless", partial(queries_here, spark, options)), SHORT)

    assert_all_answered(result)
    assert (MEASURED_RECORDS, 1.0) == (result.numbers["records"], result.numbers["outputs_per_record"])


def test_micro_batch_mode_answers_with_the_state_of_the_transaction(kafka: str, spark: SparkSession) -> None:
    """Micro-batch mode may merge answers, and no answer is wrong."""
    start = partial(queries_here, spark, SparkOptions("micro-batch"))

    result = run_case(kafka, Case("micro-batch", "stateful", start), SHORT)

    assert_all_answered(result)
    assert sum(seq >= 1000 for seq in VALID) == result.numbers["records"]
    assert result.numbers["outputs_per_record"] <= 1


def test_two_hops_answer_and_route_every_record(kafka: str, spark: SparkSession) -> None:
    """Real-time mode loses no record in two queries of one session, without and with state."""
    options = SparkOptions("real-time", interval_seconds=2)

    result = run_case(kafka, Case("real-time", "two hops", partial(queries_here, spark, options)), SHORT)

    assert_all_answered(result)
    assert (MEASURED_RECORDS, 1.0) == (result.numbers["records"], result.numbers["outputs_per_record"])


@dataclass
class Copies:
    """A run with two copies; the first copy is killed after each copy has finished a batch."""

    interval_seconds: float
    batches: list[list[dict[str, Any]]]
    """The progress of the batches of each copy before the kill."""
    result: RunResult
    is_first_running: bool


@pytest.fixture(scope="module")
def copies(kafka: str) -> Copies:
    """Run two copies, which are separate processes, and kill the first one with -9 during the measured traffic."""
    options = SparkOptions("real-time", interval_seconds=2, copies=2, source_format=SOURCE, warm_up_batches=1)
    started: list[tuple[Run, Engine]] = []
    batches: list[list[dict[str, Any]]] = []

    @contextmanager
    def losing_a_copy(run: Run) -> Iterator[Engine]:
        with spark_engine(options)(run) as engine:
            started.append((run, engine))
            yield replace(engine, children=engine.children[1:])

    def kill_first() -> None:
        if batches:
            return
        ((run, engine),) = started
        found = [replace(engine, batches=(path,)).progress() for path in engine.batches]
        outputs = sum(end_offset(kafka, run.target, partition) for partition in range(run.partitions))
        if all(found) and outputs > 1000:
            engine.children[0].kill()
            batches.extend(found)

    traffic = Traffic(200, warm_up_seconds=2, duration_seconds=8, drain_seconds=60)
    case = Case("real-time, two copies", "stateful", losing_a_copy, options.intervals("stateful"))
    result = run_case(kafka, case, traffic, on_tick=kill_first)
    ((_, engine),) = started
    return Copies(options.interval_seconds, batches, result, engine.children[0].is_running())


def test_second_copy_starts_between_boundaries_of_the_first(copies: Copies) -> None:
    """Copies that start at the same time would pause at the same time."""
    first, second = copies.batches

    first_boundary = started_at(first[0]) + first[0]["durationMs"]["triggerExecution"] / 1000
    assert started_at(second[0]) >= first_boundary + copies.interval_seconds / 2


@pytest.mark.proves("chaos rounds")
def test_one_copy_answers_everything_after_the_other_is_killed(copies: Copies) -> None:
    """Each copy is a separate process, so kill -9 of one copy loses no result."""
    assert_all_answered(copies.result)
    assert 1 < copies.result.numbers["outputs_per_record"] < 2
    assert not copies.is_first_running


def test_engine_processes_report_their_batches_and_cpu_time(copies: Copies) -> None:
    numbers = copies.result.numbers

    assert numbers["boundaries"] >= 1
    assert len(numbers["pauses_ms"]) == numbers["boundaries"]
    assert {"addBatch", "walCommit", "triggerExecution"} <= numbers["phases_ms"].keys()
    assert numbers["engine_cores"] > 0
    assert numbers["engine_mb"] > 100


def started_at(progress: dict[str, Any]) -> float:
    return datetime.fromisoformat(progress["timestamp"]).timestamp()
