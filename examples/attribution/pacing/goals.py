"""Set goals so that the campaigns reach their caps one after another, at the full rate."""

from examples.attribution.pacing.rule import Goal
from examples.attribution.traffic.generator import TrafficGenerator

# Both values are shares of the measured part's duration. Over-delivery is visible as soon as a campaign reaches its
# cap. A reserved ad slot that stays unfilled is sold again only some seconds after its reservation, so no campaign
# reaches its cap near the end of the run.
FIRST_CAP_SHARE = 0.3
LAST_CAP_SHARE = 0.75
UNLIMITED_RUN_SECONDS = 60
"""Assumed length of the measured part of a run that ends with Ctrl-C."""


def campaign_goals(traffic: TrafficGenerator) -> list[Goal]:
    """Return a goal for each campaign except the resale campaign. Each goal covers the whole run."""
    settings = traffic.settings
    measured_seconds = settings.duration or UNLIMITED_RUN_SECONDS
    starts_at = int(traffic.started_at * 1000)
    ends_at = starts_at + int(1000 * (settings.warm_up_seconds + measured_seconds))
    slots_per_record = traffic.filled_slots_per_record()
    goals = []
    for n, (campaign_id, share) in enumerate(traffic.campaign_shares.items()):
        cap_share = FIRST_CAP_SHARE + (LAST_CAP_SHARE - FIRST_CAP_SHARE) * n / (len(traffic.campaign_shares) - 1)
        records = traffic.records_due_by(settings.warm_up_seconds + cap_share * measured_seconds)
        goals.append(Goal(campaign_id, max(round(share * slots_per_record * records), 1), starts_at, ends_at))
    return goals
