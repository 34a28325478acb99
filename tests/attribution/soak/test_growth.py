"""Growth is found, and noise is not growth."""

import random
from typing import Any

import pytest

from examples.attribution.soak.growth import UNITS, growths, latency_growth
from examples.attribution.soak.samples import Sample

MINUTES = 120


def run_of(group: str, part: str, values: list[float]) -> list[Sample]:
    empty: dict[str, Any] = {name: {} for name in UNITS}
    return [{**empty, "seconds": 10.0 * number, group: {part: value}} for number, value in enumerate(values)]


def noisy(start: float, per_hour: float, deviation: float) -> list[float]:
    rng = random.Random(3)
    return [start + per_hour * number / 360 + rng.gauss(0, deviation) for number in range(6 * MINUTES)]


def test_small_leak_is_found_in_noise() -> None:
    """A leak of 45 MiB per hour in a process of 1,500 MiB fills a machine in weeks."""
    (found,) = growths(run_of("memory_mib", "Python workers", noisy(1500, 45, 8)))

    assert "grows" == found.trend
    assert 45 == pytest.approx(found.per_hour, rel=0.1)
    assert MINUTES == len(found.minutes)


@pytest.mark.parametrize(
    ("values", "trend"),
    [
        (noisy(1500, 0, 20), "steady"),
        (noisy(600, 1, 0.01), "steady"),
        (noisy(1500, -100, 10), "falls"),
        ([100.0 + 10 * min(number, 230) for number in range(720)], "steady"),
        ([500.0] * 719 + [5000.0], "steady"),
    ],
    ids=["noise", "below 2 percent", "falls", "only while it settles", "one peak"],
)
def test_other_changes_are_not_growth(values: list[float], trend: str) -> None:
    (found,) = growths(run_of("handles", "Kafka", values))

    assert trend == found.trend


def test_heap_before_a_collection_is_not_growth() -> None:
    """The heap rises until the next garbage collection, so only the lowest use counts."""
    sawtooth = [200.0 + 10 * (number % 123) for number in range(720)]

    (found,) = growths(run_of("jvm_mib", "heap", sawtooth))

    assert "steady" == found.trend
    assert found.level < 300


def test_leak_below_the_garbage_is_found() -> None:
    rising = [200.0 + number / 3 + 10 * (number % 61) for number in range(720)]

    (found,) = growths(run_of("jvm_mib", "heap", rising))

    assert "grows" == found.trend
    assert 120 == pytest.approx(found.per_hour, rel=0.4)


def test_growth_with_a_known_cause_is_marked() -> None:
    """The audit keeps every record, so its memory grows in every run."""
    (found,) = growths(run_of("memory_mib", "driver and audit", noisy(200, 300, 5)))

    assert "grows as expected" == found.trend


def test_program_that_ended_early_is_left_out() -> None:
    samples = run_of("handles", "Kafka", noisy(100, 0, 1))
    for each in samples[:6]:
        each["handles"]["compiler"] = 5

    assert ["Kafka"] == [each.part for each in growths(samples)]


def test_short_run_is_refused() -> None:
    with pytest.raises(ValueError, match=r"cover 80 minutes, which is too short"):
        growths(run_of("handles", "Kafka", [1.0] * 480))


def test_latency_has_a_verdict() -> None:
    rows = [{"minute": minute, "p50_ms": 5 + minute / 20} for minute in range(120)]

    assert ("grows", 3) == (latency_growth(rows, "p50_ms").trend, round(latency_growth(rows, "p50_ms").per_hour))
