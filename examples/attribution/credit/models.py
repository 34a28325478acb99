"""
Define the credit models, which divide the credit for a conversion among the touches before the conversion.

The module also splits amounts of money by the same shares. A replay must reproduce the amounts exactly, so shares are
fractions, and amounts are integers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor
from typing import Literal

Model = Literal["first", "last", "linear", "time_decay", "position", "w"]

DAY_MS = 86_400_000
MAX_MILLIONTHS = 1_000_000
W_SHARE_OF_ENDS_AND_KEY = Fraction(30, 100)
W_SHARE_OF_OTHERS = Fraction(10, 100)


@dataclass(frozen=True)
class Lookback:
    """Lookback windows: the maximum times, inclusive, from a click or an impression to the conversion."""

    click_ms: int = 7 * DAY_MS
    view_ms: int = DAY_MS

    def scaled(self, time_scale: int) -> "Lookback":
        """Return the windows divided by `time_scale`."""
        return Lookback(self.click_ms // time_scale, self.view_ms // time_scale)


@dataclass(frozen=True)
class CreditRules:
    """Settings of the credit rule."""

    model: Model = "position"
    lookback: Lookback = Lookback()
    lookback_of_campaign: Mapping[str, Lookback] = field(default_factory=dict)
    """Lookback windows of campaigns that do not use `lookback`, by campaign id."""
    click_priority: bool = True
    """If true, impressions earn no credit for a conversion that has a click in the lookback window."""
    half_life_ms: int = 7 * DAY_MS
    """For `time_decay`: a touch that is this much older than another touch earns half as much credit."""
    first_percent: int = 40
    """For `position`: the share of the first touch, in percent."""
    last_percent: int = 40
    """
    For `position`: the share of the last touch, in percent.

    The touches between the first and the last touch share the remainder equally.
    """
    key_campaigns: frozenset[str] = frozenset()
    """For `w`: campaigns. Their earliest touch between the first and the last touch of the path is the key touch."""
    max_path_touches: int = 200
    """
    Maximum number of touches that earn credit for one conversion.

    If a path has more touches, only the oldest touch and the newest touches earn credit, and the credit is marked
    `path_truncated`.
    """
    max_user_touches: int = 2_000
    """
    Maximum number of touches in a user's state. If there are more, the oldest touches are evicted.

    If an evicted touch could have earned credit for an order, that credit is marked `path_truncated`.
    """
    lateness_ms: int = 600_000
    """Touches earn credit only if they are stored at most this long after the order's first record is stored."""
    delay_ms: int = 3_600_000
    """Maximum time from an event to the append of its record. State is kept for this additional time."""
    settle_ms: int = 120_000
    """
    Maximum time by which the query can be further ahead in one partition than in another.

    Credit becomes final this long after the last time at which a touch can be stored and still earn credit.
    """

    def __post_init__(self) -> None:
        """Raise ValueError if the shares cannot add up to one conversion."""
        ends = (self.first_percent, self.last_percent)
        if min(ends) < 0 or not 0 < sum(ends) <= 100:
            raise ValueError(
                f"first_percent and last_percent are {ends!r}, so shares would not add up to one conversion; "
                f"use two non-negative numbers with a sum from 1 to 100"
            )

    def scaled(self, time_scale: int) -> "CreditRules":
        """Return the rules with all times divided by `time_scale`. With a time scale of 86,400, days become seconds."""
        return replace(
            self,
            lookback=self.lookback.scaled(time_scale),
            lookback_of_campaign={name: each.scaled(time_scale) for name, each in self.lookback_of_campaign.items()},
            half_life_ms=max(self.half_life_ms // time_scale, 1),
            lateness_ms=self.lateness_ms // time_scale,
            delay_ms=self.delay_ms // time_scale,
            settle_ms=self.settle_ms // time_scale,
        )

    def window_ms(self, kind: str, campaign_id: str) -> int:
        """Return the lookback window (ms) for a click or an impression of this campaign."""
        lookback = self.lookback_of_campaign.get(campaign_id, self.lookback)
        return lookback.click_ms if kind == "click" else lookback.view_ms

    @property
    def max_window_ms(self) -> int:
        """Return the longest lookback window (ms) of all kinds of touches and all campaigns."""
        lookbacks = (self.lookback, *self.lookback_of_campaign.values())
        return max(max(lookback.click_ms, lookback.view_ms) for lookback in lookbacks)

    @property
    def retention_ms(self) -> int:
        """Return the age (ms), relative to the newest append time, up to which a record can still affect credit."""
        return self.max_window_ms + self.lateness_ms + self.delay_ms + self.settle_ms


def weights(ages_ms: Sequence[int], rules: CreditRules, key: int | None = None) -> list[Fraction]:
    """
    Return the share of each touch, oldest first. `key` is the index of the key touch for model `w`.

    Without a key touch, or with fewer than four touches, `w` returns the shares of `position`.
    """
    count = len(ages_ms)
    if count == 0:
        return []
    # The values are lambdas so that only the selected model is computed. Other models can be undefined for these
    # touches.
    shares: dict[Model, Callable[[], list[Fraction]]] = {
        "first": lambda: [Fraction(n == 0) for n in range(count)],
        "last": lambda: [Fraction(n == count - 1) for n in range(count)],
        "linear": lambda: [Fraction(1, count)] * count,
        "time_decay": lambda: _time_decay(ages_ms, rules.half_life_ms),
        "position": lambda: _position(count, rules),
        "w": lambda: _position(count, rules) if count < 4 or key is None else _w(count, key),
    }
    return shares[rules.model]()


def split(amount: int, shares: Sequence[Fraction]) -> list[int]:
    """Split `amount` into whole units: round all parts down, then add 1 to the parts with the largest remainders."""
    exact = [amount * share for share in shares]
    parts = [floor(value) for value in exact]
    # The sort is stable, so among touches with equal remainders, earlier touches get the extra units.
    by_remainder = sorted(range(len(parts)), key=lambda n: parts[n] - exact[n])
    for n in by_remainder[: amount - sum(parts)]:
        parts[n] += 1
    return parts


def _time_decay(ages_ms: Sequence[int], half_life_ms: int) -> list[Fraction]:
    # Ages are relative to the newest touch. Otherwise the weights would all underflow to zero if all touches were very
    # old.
    newest = min(ages_ms)
    raw = [Fraction(2.0 ** (-(age - newest) / half_life_ms)) for age in ages_ms]
    total = sum(raw)
    return [share / total for share in raw]


def _position(count: int, rules: CreditRules) -> list[Fraction]:
    first, last = Fraction(rules.first_percent, 100), Fraction(rules.last_percent, 100)
    if count == 1:
        return [Fraction(1)]
    if count == 2:
        return [first / (first + last), last / (first + last)]
    return [first, *[(1 - first - last) / (count - 2)] * (count - 2), last]


def _w(count: int, key: int) -> list[Fraction]:
    return [
        W_SHARE_OF_ENDS_AND_KEY if n in (0, key, count - 1) else W_SHARE_OF_OTHERS / (count - 3) for n in range(count)
    ]
