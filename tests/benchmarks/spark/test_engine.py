"""A short real run of Spark: every record gets its correct answer, although a copy of the query is killed."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.run import Case, run_case
from benchmarks.results.run_result import Traffic
from benchmarks.spark.engine import spark_engine
from benchmarks.spark.queries import SparkOptions
from spark_rtm.realtime.control import LATEST, SOURCE
from spark_rtm.realtime.queries import wait_until
from tests.benchmarks.helpers import assert_all_answered
from tests.helpers import end_offset

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]


@pytest.mark.proves("chaos rounds")
def test_one_copy_answers_everything_after_the_other_is_killed(kafka: str) -> None:
    """Each copy is a separate process, so kill -9 of one copy during the measured traffic loses no result."""
    options = SparkOptions("real-time", interval_seconds=2, copies=2, source_format=SOURCE, warm_up_batches=1)
    batches: list[list[dict[str, Any]]] = []

    def kill_first(run: Run, engine: Engine) -> None:
        def is_due() -> bool:
            batches[:] = [replace(engine, batches=(path,)).progress() for path in engine.batches]
            outputs = sum(end_offset(kafka, run.target, partition) for partition in range(run.partitions))
            return len(batches[0]) >= 2 and any(map(ended_on_command, batches[1])) and outputs > 1000

        wait_until(is_due, 60, "two batches of the first copy, one of the second on command, and results")
        engine.children[0].kill()

    @contextmanager
    def losing_a_copy(run: Run) -> Iterator[Engine]:
        with spark_engine(options)(run) as engine, ThreadPoolExecutor() as threads:
            killing = threads.submit(kill_first, run, engine)
            yield replace(engine, children=engine.children[1:])
            killing.result()
            assert not engine.children[0].is_running()

    case = Case("real-time, two copies", "stateful", losing_a_copy, options.intervals("stateful"))
    result = run_case(kafka, case, Traffic(200, warm_up_seconds=2, duration_seconds=8, drain_seconds=60))

    assert_all_answered(result)
    numbers = result.numbers
    assert 1 < numbers["outputs_per_record"] < 2
    # Only the second copy ends its batches on command, which keeps its pauses away from those of the first copy.
    assert not any(map(ended_on_command, batches[0]))
    # Engine processes report their batches and CPU time.
    assert len(numbers["pauses_ms"]) == numbers["boundaries"] >= 1
    assert {"addBatch", "walCommit", "triggerExecution"} <= numbers["phases_ms"].keys()
    assert numbers["engine_cores"] > 0
    assert numbers["engine_mb"] > 100


def ended_on_command(progress: dict[str, Any]) -> bool:
    return LATEST in progress["sources"][0]["metrics"]
