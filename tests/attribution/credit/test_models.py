from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.attribution.credit.models import DAY_MS, MAX_MILLIONTHS, CreditRules, Lookback, Model, split, weights

HOUR_MS = DAY_MS // 24
MODELS: tuple[Model, ...] = ("first", "last", "linear", "time_decay", "position", "w")


def millionths(ages_ms: Sequence[int], key: int | None = None, **settings: Any) -> list[int]:
    return split(MAX_MILLIONTHS, weights(ages_ms, CreditRules(**settings), key))


@pytest.mark.parametrize(
    ("model", "key", "expected"),
    [
        ("first", None, [1_000_000, 0, 0]),
        ("last", None, [0, 0, 1_000_000]),
        ("linear", None, [250_000] * 4),
        ("linear", None, [333_334, 333_333, 333_333]),
        ("position", None, [1_000_000]),
        ("position", None, [500_000, 500_000]),
        ("position", None, [400_000, 200_000, 400_000]),
        ("position", None, [400_000, 100_000, 100_000, 400_000]),
        ("w", 2, [300_000, 50_000, 300_000, 50_000, 300_000]),
        ("w", 1, [300_000, 300_000, 100_000, 300_000]),
        ("w", 1, [400_000, 200_000, 400_000]),
        ("w", None, [400_000, 100_000, 100_000, 400_000]),
    ],
)
def test_models_give_each_touch_its_published_share(model: Model, key: int | None, expected: list[int]) -> None:
    """
    U gives 40-20-40, 50-50 or 100 percent.

    W gives 30-30-30-10 to four or more touches with a key touch between the ends; otherwise it equals U.
    """
    assert expected == millionths(range(len(expected), 0, -1), key, model=model)


@pytest.mark.parametrize(
    ("model", "hours", "expected"),
    [
        ("position", [160, 120.25, 80, 40, 1.5], [0.4, *[0.066666667] * 3, 0.4]),
        ("time_decay", [50], [1]),
        ("time_decay", [30.5, 2], [0.470636958, 0.529363042]),
        ("time_decay", [167, 100, 99.5, 0], [0.17757804, 0.234122357, 0.234605835, 0.353693768]),
    ],
)
def test_shares_equal_those_of_another_implementation(model: Model, hours: list[float], expected: list[float]) -> None:
    """Shares equal the results of `run_position_based` and `run_time_decay` in marketing-attribution-models 2.1.1."""
    # The expected values are copied: the package depends on 390 MB of others, and 1.0.10 fails with current matplotlib.
    shares = weights([round(age * HOUR_MS) for age in hours], CreditRules(model=model))

    assert pytest.approx(expected, abs=1e-9) == [float(share) for share in shares]


def test_time_decay_of_very_old_touches_still_adds_up() -> None:
    assert [333_333, 666_667] == millionths((10_001, 10_000), model="time_decay", half_life_ms=1)
    assert [0, 1_000_000] == millionths((90_000, 10), model="time_decay", half_life_ms=1)


def test_path_without_touches_has_no_shares() -> None:
    assert [[]] * len(MODELS) == [weights((), CreditRules(model=model)) for model in MODELS]


def test_remaining_units_go_to_the_largest_remainders() -> None:
    assert [34, 33, 33] == split(100, [Fraction(1, 3)] * 3)
    assert [1, 3] == split(4, [Fraction(1, 3), Fraction(2, 3)])
    assert [0, 1, 0] == split(1, [Fraction(1, 6), Fraction(2, 3), Fraction(1, 6)])


@given(
    model=st.sampled_from(MODELS),
    ages_ms=st.lists(st.integers(0, 90 * DAY_MS), min_size=1, max_size=30),
    amount=st.integers(0, 10**15),
    key=st.none() | st.integers(1, 28),
    ends=st.tuples(st.integers(0, 50), st.integers(1, 50)),
)
def test_shares_and_money_of_every_model_add_up(
    model: Model, ages_ms: list[int], amount: int, key: int | None, ends: tuple[int, int]
) -> None:
    rules = CreditRules(model=model, first_percent=ends[0], last_percent=ends[1])
    inner = key if key is not None and key < len(ages_ms) - 1 else None

    shares = weights(ages_ms, rules, inner)
    parts = split(amount, shares)

    assert 1 == sum(shares)
    assert 0 <= min(shares)
    assert amount == sum(parts)
    assert all(abs(part - amount * share) < 1 for part, share in zip(parts, shares, strict=True))


@pytest.mark.parametrize("ends", [(-1, 40), (0, 0), (60, 41)])
def test_percentages_that_cannot_add_up_are_rejected(ends: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"first_percent and last_percent are .* would not add up"):
        CreditRules(first_percent=ends[0], last_percent=ends[1])


def test_time_scale_divides_every_window() -> None:
    rules = CreditRules(lookback_of_campaign={"c": Lookback(14 * DAY_MS, 0)}).scaled(DAY_MS // 1_000)

    assert (7_000, 1_000) == (rules.window_ms("click", "other"), rules.window_ms("impression", "other"))
    assert (14_000, 0) == (rules.window_ms("click", "c"), rules.window_ms("impression", "c"))
    assert (7_000, 6, 41, 1) == (rules.half_life_ms, rules.lateness_ms, rules.delay_ms, rules.settle_ms)
    assert 14_000 + 6 + 41 + 1 == rules.retention_ms
