"""The benchmark without Kafka counts every record, and reports missing and wrong statistics."""

import numpy as np
import pytest
from pyspark.sql import SparkSession

from benchmarks.engine_only import run_problems
from benchmarks.results.record_times import Traffic
from benchmarks.spark.memory_source import KEYS, MemoryRun, Mode, counting_times, measure

TRAFFIC = Traffic(rate=500, warm_up_seconds=1, duration_seconds=2, drain_seconds=60)


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_each_record_is_counted_in_a_correct_statistic(spark: SparkSession, mode: Mode) -> None:
    """Real-time mode writes one statistic per record, micro-batch mode one for several records."""
    run = measure(spark, MemoryRun(mode, TRAFFIC, interval_seconds=2, partitions=2))

    assert [] == run_problems([run])
    assert run["outputs_per_record"] == 1 if mode == "real-time" else run["outputs_per_record"] <= 1
    assert 0 < run["p50_ms"] <= run["p99_ms"] <= run["max_ms"]


def test_statistic_counts_all_open_records_of_its_key() -> None:
    """A merged statistic answers each record in it, and only the first statistic of a record counts."""
    statistics = np.array([[2 * KEYS, 3, 900], [0, 1, 300], [1, 1, 500], [2 * KEYS, 3, 950]])

    counted_us, wrong = counting_times(statistics, 2 * KEYS + 1)

    assert 0 == wrong
    assert {0: 300, 1: 500, KEYS: 900, 2 * KEYS: 900} == {
        int(number): int(counted_us[number]) for number in np.flatnonzero(counted_us)
    }


@pytest.mark.parametrize(
    ("statistics", "missing", "wrong"),
    [([[1, 1, 500]], 1, 0), ([[0, 1, 300], [1, 2, 500]], 0, 1)],
    ids=["missing", "wrong"],
)
def test_missing_or_wrong_statistics_make_a_run_invalid(statistics: list[list[int]], missing: int, wrong: int) -> None:
    """A run that lost a record or counted one twice is reported with its number and mode."""
    counted_us, found_wrong = counting_times(np.array(statistics), 2)
    run = {"engine": "real-time", "missing": int((counted_us == 0).sum()), "wrong": found_wrong}

    expected = f"run 1 (real-time): {missing} records have no statistic, and {wrong} statistics are wrong"
    assert [expected] == run_problems([run])
