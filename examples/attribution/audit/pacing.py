"""
Check a run's pacing: compare the run's counts with those of the replay, and compute each campaign's over-delivery.

Over-delivery is computed from the replay alone. The run used its own counts to prevent over-delivery, so a check that
relies on these counts could not find their errors.
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
    """A campaign's goal, and the campaign's delivery according to the replay."""

    goal: Goal
    pacing: Pacing

    @property
    def over_delivered(self) -> int:
        """Return the number of impressions delivered beyond the campaign's goal. Nobody pays for these impressions."""
        return max(self.pacing.delivered - self.goal.impressions, 0)


def campaign_outcomes(expected: Iterable[Result], goals: Iterable[Goal], settings: Settings) -> list[CampaignOutcome]:
    """Return each campaign's goal and its delivery at the end time of the goal."""
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
    """Yield a message for each count that differs from the replay, is missing, or is not in the replay."""
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
