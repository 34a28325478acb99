"""
The credit models: how one conversion is shared among the touches of its path, and money among the shares.

What arrives are the ages of touches in order, or an amount in whole units; what leaves are shares that add up to one,
or whole units that add up to the amount.
Real-time mode demands the same digits on every replay, so shares are fractions and money is never a float.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor
from typing import Literal

Model = Literal["first", "last", "linear", "time_decay", "position", "w"]

DAY_MS = 86_400_000
MOST_MILLIONTHS = 1_000_000
W_ENDS_AND_KEY = Fraction(30, 100)
W_REST = Fraction(10, 100)


@dataclass(frozen=True)
class Lookback:
    """How long before a conversion a touch may lie, in milliseconds; both ends are inside."""

    click_ms: int = 7 * DAY_MS
    view_ms: int = DAY_MS

    def scaled(self, time_scale: int) -> "Lookback":
        """Return the windows divided by `time_scale`."""
        return Lookback(self.click_ms // time_scale, self.view_ms // time_scale)


@dataclass(frozen=True)
class CreditRules:
    """Every knob of the credit hop; times in milliseconds."""

    model: Model = "position"
    lookback: Lookback = Lookback()
    lookback_of_campaign: Mapping[str, Lookback] = field(default_factory=dict)
    """Campaigns with windows of their own."""
    click_priority: bool = True
    """A conversion with a click in its window gives nothing to impressions."""
    half_life_ms: int = 7 * DAY_MS
    """For `time_decay`: a touch this much older than another earns half as much."""
    first_percent: int = 40
    """For `position`: what the first touch earns."""
    last_percent: int = 40
    """For `position`: what the last touch earns; those between share the rest."""
    key_campaigns: frozenset[str] = frozenset()
    """For `w`: the first touch between the ends that belongs to one of these is the key touch."""
    longest_path: int = 200
    """Of a longer path the oldest touch and the newest others are kept, and the answer says `path_truncated`."""
    most_touches: int = 2_000
    """Bound of one user's state: beyond it the oldest touches go, and conversions that may miss them say so."""
    lateness_ms: int = 600_000
    """A touch whose result was stored later than this after the conversion earns nothing."""
    delay_ms: int = 3_600_000
    """The longest time between an event and its append; state is kept so much longer than the longest window."""
    settle_ms: int = 120_000
    """How far apart the partitions may be read: an answer is called final this much after the last possible touch."""

    def __post_init__(self) -> None:
        """Refuse shares that cannot add up to one conversion."""
        ends = (self.first_percent, self.last_percent)
        if min(ends) < 0 or not 0 < sum(ends) <= 100:
            raise ValueError(
                f"first_percent and last_percent are {ends!r}, so that shares would not add up to one conversion; "
                f"use numbers from 0 with a sum from 1 to 100"
            )

    def scaled(self, time_scale: int) -> "CreditRules":
        """Return the rules with all times divided by `time_scale`, so that days pass as seconds."""
        return replace(
            self,
            lookback=self.lookback.scaled(time_scale),
            lookback_of_campaign={name: own.scaled(time_scale) for name, own in self.lookback_of_campaign.items()},
            half_life_ms=max(self.half_life_ms // time_scale, 1),
            lateness_ms=self.lateness_ms // time_scale,
            delay_ms=self.delay_ms // time_scale,
            settle_ms=self.settle_ms // time_scale,
        )

    def window_ms(self, kind: str, campaign_id: str) -> int:
        """Return the lookback of a click or impression of this campaign."""
        lookback = self.lookback_of_campaign.get(campaign_id, self.lookback)
        return lookback.click_ms if kind == "click" else lookback.view_ms

    @property
    def longest_window_ms(self) -> int:
        """Return the longest lookback of all kinds and campaigns."""
        return max(max(own.click_ms, own.view_ms) for own in (self.lookback, *self.lookback_of_campaign.values()))

    @property
    def retention_ms(self) -> int:
        """Return how much newer a record may be that an old one can still matter to."""
        return self.longest_window_ms + self.lateness_ms + self.delay_ms + self.settle_ms


def weights(ages_ms: Sequence[int], rules: CreditRules, key: int | None = None) -> list[Fraction]:
    """
    Return the share of each touch, oldest first; `key` is the position of the key touch that model `w` needs.

    Without a key touch, or with fewer than four touches, `w` is `position`.
    """
    count = len(ages_ms)
    if count == 0:
        return []
    # A lambda each, because a model may be undefined for a path that another one shares.
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
    """Split whole units so that they add up to `amount`: rounded down, then one each to the largest remainders."""
    exact = [amount * share for share in shares]
    parts = [floor(value) for value in exact]
    # The sort is stable: equal remainders are served in the order of touches.
    by_remainder = sorted(range(len(parts)), key=lambda n: parts[n] - exact[n])
    for n in by_remainder[: amount - sum(parts)]:
        parts[n] += 1
    return parts


def _time_decay(ages_ms: Sequence[int], half_life_ms: int) -> list[Fraction]:
    # Ages count from the newest touch, or all would decay to nothing when they are many half-lives old.
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
    return [W_ENDS_AND_KEY if n in (0, key, count - 1) else W_REST / (count - 3) for n in range(count)]
