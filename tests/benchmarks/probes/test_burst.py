import numpy as np
import pytest

from benchmarks.probes.burst import Options, digested, highest_sustained

pytestmark = pytest.mark.spark  # importing the probe imports PySpark
OPTIONS = Options(duration=4, after=6)
TIMES_MS = 1_000_000 + np.arange(14_000)
BURST = (TIMES_MS >= TIMES_MS[4_000]) & (TIMES_MS < TIMES_MS[8_000])


@pytest.mark.parametrize(("slow_until", "seconds"), [(8_000, 0), (8_001, 0), (9_500, 2), (13_900, None)], ids=str)
def test_burst_is_digested_in_the_second_after_the_last_slow_one(slow_until: int, seconds: int | None) -> None:
    """One record in a second is not its p99; a burst that is slow in the last second has no end."""
    waits = np.where((TIMES_MS >= TIMES_MS[4_000]) & (TIMES_MS < TIMES_MS[0] + slow_until), 400, 20)

    found = digested(TIMES_MS, TIMES_MS + waits, OPTIONS)

    expected: dict[str, object] = {
        "sent_late_seconds": 0,
        "normal_p99_ms": 20,
        "burst_p99_ms": 400,
        "max_ms": 400,
        "max_backlog": 400,
        "seconds": seconds,
    }
    assert expected == found


def test_record_without_a_result_waits_until_the_end() -> None:
    answered = np.where(BURST, 0, TIMES_MS + 20)

    assert 10_020 == digested(TIMES_MS, answered, OPTIONS)["max_ms"]


@pytest.mark.parametrize(("lost_from", "rate"), [(200, 100), (2_000, 100), (5_000, 1_000)])
def test_sustained_rate_is_the_last_one_before_a_late_median(lost_from: int, rate: int) -> None:
    """The last quarter of a step decides, and records without a result are late."""
    answered = TIMES_MS[:5_500].copy()
    answered[lost_from:] = 0

    assert rate == highest_sustained(TIMES_MS[:5_500], answered, [100, 1_000], 5)
