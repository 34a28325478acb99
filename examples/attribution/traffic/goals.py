"""
Set a goal for each campaign, so that all reach their caps within a run, one after the other.

What arrives is the traffic of a run; what leaves are goals.
Real-time mode demands nothing of goals, but a run shows what it saves only if caps are reached at full rate.
"""

from examples.attribution.pacing.rule import Goal
from examples.attribution.traffic.generator import Traffic

# When the first and the last campaign reach their caps, as shares of the measured part. What is served beyond a cap
# shows at once; what was reserved and stays unfilled is sold some seconds later, so that the end stays free.
FIRST_CAP = 0.3
LAST_CAP = 0.75
ENDLESS_SECONDS = 60
"""A run until Ctrl-C reaches its caps as one of so many seconds."""


def goals(traffic: Traffic) -> list[Goal]:
    """Return a goal per campaign that has one; the plan of each runs from the first record to the last."""
    settings, starts_at = traffic.settings, int(traffic.started_at * 1000)
    measured = settings.duration or ENDLESS_SECONDS
    ends_at = starts_at + int(1000 * (settings.warm_up_seconds + measured))
    filled_per_record = traffic.filled_per_record()
    found = []
    for n, (campaign_id, share) in enumerate(traffic.shares.items()):
        reached = FIRST_CAP + (LAST_CAP - FIRST_CAP) * n / (len(traffic.shares) - 1)
        records = traffic.records_until(settings.warm_up_seconds + reached * measured)
        found.append(Goal(campaign_id, max(round(share * filled_per_record * records), 1), starts_at, ends_at))
    return found
