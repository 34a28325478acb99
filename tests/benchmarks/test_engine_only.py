"""The engine alone, without Kafka: every record is counted, and what is missing or wrong is told."""

from argparse import Namespace

import numpy as np
import pytest
from pyspark.sql import SparkSession

from examples.benchmarks.engine_only import KEYS, answers, problems, run_mode

OPTIONS = Namespace(rate=500.0, warm_up_seconds=1.0, measured_seconds=2.0, interval_seconds=2.0, partitions=2)


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
def test_each_record_is_counted_in_a_right_statistic(spark: SparkSession, mode: str) -> None:
    """Real-time mode gives a statistic for each record, micro-batch one for several."""
    run = run_mode(spark, mode, OPTIONS)

    assert [] == problems([run])
    assert run["outputs_per_record"] == 1 if mode == "real-time" else run["outputs_per_record"] <= 1
    assert 0 < run["p50_ms"] <= run["p99_ms"] <= run["max_ms"]


def test_statistic_answers_all_records_of_its_key_that_had_none() -> None:
    """A merged statistic counts for each record in it, and the first one counts."""
    noted = np.array([[2 * KEYS, 3, 900], [0, 1, 300], [1, 1, 500], [2 * KEYS, 3, 950]])

    answered_us, wrong = answers(noted, 2 * KEYS + 1)

    assert 0 == wrong
    assert {0: 300, 1: 500, KEYS: 900, 2 * KEYS: 900} == {
        int(number): int(answered_us[number]) for number in np.flatnonzero(answered_us)
    }


@pytest.mark.parametrize(
    ("noted", "missing", "wrong"), [([[1, 1, 500]], 1, 0), ([[0, 1, 300], [1, 2, 500]], 0, 1)], ids=["missing", "wrong"]
)
def test_missing_and_wrong_statistics_make_a_run_invalid(noted: list[list[int]], missing: int, wrong: int) -> None:
    """A run that lost a record or counted one twice is named."""
    answered_us, found_wrong = answers(np.array(noted), 2)
    run = {"engine": "real-time", "missing": int((answered_us == 0).sum()), "wrong": found_wrong}

    expected = f"run 1 (real-time): {missing} records without statistic, {wrong} wrong ones"
    assert [expected] == problems([run])
