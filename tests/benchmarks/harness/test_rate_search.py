from typing import Any

import pytest

from benchmarks.harness.rate_search import highest_rate, is_sustained
from tests.benchmarks.helpers import run_result
from tests.benchmarks.results.test_validity import GOOD


@pytest.mark.parametrize(
    ("first_ms", "last_ms", "change", "expected"),
    [
        (2, 2, {}, True),
        (2, 252, {}, True),
        (2, 253, {}, False),
        (9_000, 1_000, {}, True),
        (9_000, 1_001, {}, False),
        (2, 2, {"missing": 1}, False),
        (2, 2, {"achieved_share": 0.98}, False),
        (2, 2, {"lag_p99_ms": 5.1, "p50_ms": 1.0}, False),
    ],
    ids=[
        "even",
        "a pause at the end",
        "growing lag",
        "a queue from the start that is gone",
        "a queue that shrinks after the last record",
        "lost records",
        "a lower rate",
        "late records",
    ],
)
def test_rate_is_sustained_if_no_queue_remains(
    first_ms: int, last_ms: int, change: dict[str, Any], *, expected: bool
) -> None:
    result = run_result("stateful", "real-time", [first_ms] * 30 + [last_ms] * 10, **{**GOOD, **change})

    assert expected == is_sustained(result)


@pytest.mark.parametrize(
    ("limit", "tried", "highest"),
    [
        (200, [100, 200], 200),
        (160, [100, 200, 150], 150),
        (110, [100, 200, 150], 100),
        (60, [100, 50], 50),
        (9, [100, 50], 0),
    ],
)
def test_rate_is_raised_until_the_engine_falls_behind(limit: float, tried: list[float], highest: float) -> None:
    rates = list[float]()

    def keeps_up(rate: float) -> bool:
        rates.append(rate)
        return rate <= limit

    assert highest == highest_rate([100, 200], keeps_up)
    assert tried == rates
