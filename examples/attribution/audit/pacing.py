"""
Check the pacing of a run: compare the counts with the replay, and compute the over-delivery of each campaign.

Over-delivery is computed from the replay only, not from the counts, which are meant to prevent over-delivery.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from examples.attribution.audit.run_log import Row
from examples.attribution.correlation.rule import Result
from examples.attribution.pacing.rule import CampaignCount, Goal, Pacing, count_slots, pacing
from examples.attribution.settings import Settings

COUNT_FIELDS = ("slots", "delivered", "reserved")


@dataclass(frozen=True)
class CampaignOutcome:
    """The goal of a campaign and its delivery, computed from the replay."""

    goal: Goal
    pacing: Pacing

    @property
    def over_delivered(self) -> int:
        """Return the number of impressions beyond the goal, which are not paid for."""
        return max(self.pacing.delivered - self.goal.impressions, 0)


def campaign_outcomes(expected: Iterable[Result], goals: Iterable[Goal], settings: Settings) -> list[CampaignOutcome]:
    """Return the delivery of each campaign at the end of the period of its goal."""
    delivered: Counter[str] = Counter()
    reserved: Counter[str] = Counter()
    for count in count_slots(expected, settings):
        delivered[count.campaign_id] += count.delivered
        reserved[count.campaign_id] += count.reserved
    return [
        CampaignOutcome(goal, pacing(delivered[goal.campaign_id], reserved[goal.campaign_id], goal, goal.ends_at))
        for goal in goals
    ]


def count_differences(counts: Mapping[str, Row], expected: Iterable[Result], settings: Settings) -> Iterator[str]:
    """Yield one line for each count that differs from the replay."""
    expected_counts = {count.result_id: count for count in count_slots(expected, settings)}
    for result_id, count in expected_counts.items():
        row = counts.get(result_id)
        if row is None:
            yield f"count {result_id} is missing; expected {_text(count)}"
        elif any(row[name] != getattr(count, name) for name in COUNT_FIELDS):
            yield f"count {result_id} differs: {_text(row)} instead of {_text(count)}"
    yield from (f"count {result_id} is not in the replay" for result_id in counts.keys() - expected_counts.keys())


def _text(count: CampaignCount | Row) -> str:
    fields = count if isinstance(count, dict) else vars(count)
    return ", ".join(f"{name} {fields[name]}" for name in COUNT_FIELDS)
