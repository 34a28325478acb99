import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import psutil
import pytest

from benchmarks.harness.baseline import BASELINE, baseline_case, echo
from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.plan import PlannedRun, plain_console, rotate, run_on_broker
from benchmarks.harness.run import Case
from benchmarks.results.record_times import Traffic
from benchmarks.results.summary import summarize
from spark_rtm.realtime.queries import wait_until
from tests.benchmarks.harness.checks import assert_all_answered
from tests.helpers import end_offset


def test_each_repeat_begins_with_another_case() -> None:
    """A drift of the machine then favors no engine."""
    cases = [replace(baseline_case(), engine=name) for name in "abcd"]

    plan = rotate(cases, [Traffic(1000, 1, 1)], 3)

    assert ["abcd", "bcda", "cdab"] == [
        "".join(run.case.engine for run in plan if run.repeat == repeat) for repeat in (1, 2, 3)
    ]


@pytest.mark.services
def test_late_run_is_repeated_and_invalid_if_late_again(kafka: str) -> None:
    traffic = Traffic(500, 1, 5)

    def pause_sender(run: Run) -> None:
        partitions = range(run.partitions)
        wait_until(lambda: sum(end_offset(kafka, run.source, p) for p in partitions) > 0, 60, "the first record")
        children = psutil.Process().children(recursive=True)
        (sender,) = [child for child in children if child.name() == "java" and "LoadGenerator" in child.cmdline()]
        sender.suspend()
        # The first measured record is late too. If only later records were late, a slow machine that delays the last
        # record as well would also reduce the rate of the run, which is another problem.
        threading.Event().wait(traffic.warm_up_seconds + 0.4)
        sender.resume()

    @contextmanager
    def echo_with_a_late_sender(run: Run) -> Iterator[Engine]:
        with echo(run) as engine, ThreadPoolExecutor() as threads:
            pausing = threads.submit(pause_sender, run)
            yield engine
            pausing.result()

    planned = PlannedRun(Case(BASELINE, "echo", echo_with_a_late_sender), traffic)

    (result,) = run_on_broker(kafka, [planned], 2, 1, plain_console())

    assert_all_answered(result)
    assert [True] == [numbers["lag_p99_ms"] > 5 for numbers in result.late_runs]
    assert result.is_only_disturbed()
    assert len(summarize([result])["late_runs"]) == len(result.late_runs)
