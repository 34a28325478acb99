"""
Check the counts of the pacing hop, and reckon what each campaign was given beyond its goal.

What arrives are the counts of a run, the results of the replay, and goals; what leaves are standings and differences.
Over-delivery is never taken from the counts that are to prevent it: the replay alone decides what was delivered.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from examples.attribution.audit.run_log import Row
from examples.attribution.correlation.rule import Result
from examples.attribution.pacing.rule import CampaignCount, Goal, Pacing, count_slots, pacing
from examples.attribution.settings import Settings

NUMBERS = ("slots", "delivered", "reserved")


@dataclass(frozen=True)
class Standing:
    """Where a campaign stands at the end, by the replay."""

    goal: Goal
    pacing: Pacing

    @property
    def over_delivered(self) -> int:
        """Return the impressions beyond the goal, which nobody pays for."""
        return max(self.pacing.delivered - self.goal.impressions, 0)


def standings(expected: Iterable[Result], goals: Iterable[Goal], settings: Settings) -> list[Standing]:
    """Return where each goal stands at its end."""
    delivered: Counter[str] = Counter()
    reserved: Counter[str] = Counter()
    for count in count_slots(expected, settings):
        delivered[count.campaign_id] += count.delivered
        reserved[count.campaign_id] += count.reserved
    return [
        Standing(goal, pacing(delivered[goal.campaign_id], reserved[goal.campaign_id], goal, goal.ends_at))
        for goal in goals
    ]


def count_differences(counts: Mapping[str, Row], expected: Iterable[Result], settings: Settings) -> Iterator[str]:
    """Yield a line for each count that is not that of the replay."""
    wanted = {count.result_id: count for count in count_slots(expected, settings)}
    for result_id, count in wanted.items():
        found = counts.get(result_id)
        if found is None:
            yield f"count {result_id} is missing; the replay says {_numbers(count)}"
        elif any(found[name] != getattr(count, name) for name in NUMBERS):
            yield f"count {result_id} differs: {_numbers(found)} instead of {_numbers(count)}"
    yield from (f"count {result_id} has no cause" for result_id in counts.keys() - wanted.keys())


def _numbers(count: CampaignCount | Row) -> str:
    numbers = count if isinstance(count, dict) else vars(count)
    return ", ".join(f"{name} {numbers[name]}" for name in NUMBERS)
