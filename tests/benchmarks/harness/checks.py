"""Checks and engines that several test modules share."""

from contextlib import AbstractContextManager
from dataclasses import replace

from examples.benchmarks.harness.baseline import echo
from examples.benchmarks.harness.engine import Engine, Run
from examples.benchmarks.results.record_times import Traffic
from examples.benchmarks.results.run_result import RunResult

SHORT = Traffic(rate=2000, warm_up_seconds=0.5, duration_seconds=1, drain_seconds=60)
MEASURED_RECORDS = 2000
VALID = [seq for seq in range(3000) if seq % 101 != 100]


def half_echo(run: Run) -> AbstractContextManager[Engine]:
    """Run an engine that reads one of two partitions."""
    return echo(replace(run, partitions=1))


def assert_all_answered(result: RunResult) -> None:
    """Assert that no answer is missing or wrong; the latency depends on the machine."""
    assert (0, 0) == (result.numbers["missing"], result.numbers["wrong"])
    assert all(result.latency_us > 0)
