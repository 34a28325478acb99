import random
from collections import deque

import numpy as np
import pytest

from spark_rtm.measure import PERCENTILES, percentiles, percentiles_ms, percentiles_of_runs

RANKS: dict[str, tuple[int, float, int]] = {
    # number of values, share, expected rank
    "minimum": (10, 0, 1),
    "one-value": (1, 0.99, 1),
    "p50-of-two": (2, 0.5, 1),
    "p99-of-99": (99, 0.99, 99),
    "p99-of-100": (100, 0.99, 99),
    "p99-of-101": (101, 0.99, 100),
    "p99.9-of-a-full-run": (120_000, 0.999, 119_880),
    "float-product-above-the-rank": (100, 0.07, 7),
    "maximum": (1_000, 1, 1_000),
}


@pytest.mark.parametrize(("count", "share", "rank"), RANKS.values(), ids=RANKS)
def test_percentile_has_the_nearest_rank(count: int, share: float, rank: int) -> None:
    """In the list 1 to n, each percentile equals its rank; the cases are just below, at and just above a boundary."""
    values = random.Random(count).sample(range(1, count + 1), count)

    assert [rank] == percentiles(values, [share])


def test_percentiles_of_microseconds_are_in_milliseconds() -> None:
    assert {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0} == percentiles_ms(np.arange(1, 1_001))


def test_percentiles_keep_the_type_and_order_of_their_input() -> None:
    floats = deque([2.5, 1.5])

    assert ["2", "3"] == [repr(value) for value in percentiles([3, 1, 2], (0.5, 1))]
    assert ["1.5", "2.5"] == [repr(value) for value in percentiles(floats, (0.5, 1))]
    assert deque([2.5, 1.5]) == floats


def test_percentiles_of_no_values_are_an_error() -> None:
    with pytest.raises(IndexError):
        percentiles([], [0.5])


def test_runs_are_summarized_by_median_lowest_and_highest() -> None:
    runs = [{f"{name}_ms": value for name in PERCENTILES} for value in (1.0, 9.0, 2.0)]

    assert {"p99_ms": 2.0, "p99_lowest_ms": 1.0, "p99_highest_ms": 9.0}.items() <= percentiles_of_runs(runs).items()
    assert 9.0 == percentiles_of_runs(runs[:2])["p99_ms"]
    assert {None} == set(percentiles_of_runs([]).values())
