import json
from collections import defaultdict
from itertools import islice

import pytest

from examples.attribution.pacing.goals import FIRST_CAP_SHARE, LAST_CAP_SHARE, campaign_goals
from examples.attribution.settings import DemoSettings
from examples.attribution.traffic.generator import TrafficGenerator

STARTED_AT = 1_700_000_000.0


def test_campaigns_reach_their_goals_one_after_the_other() -> None:
    """Each campaign fills as many ad slots as its goal at the planned time in the measured part, within 20 %."""
    settings = DemoSettings(rate=1_000, warm_up_seconds=10, duration=30)
    traffic = TrafficGenerator(settings, settings.windows, "run", STARTED_AT)
    goals = campaign_goals(traffic)
    sent = list(islice(traffic.records(), 34_000))

    filled: defaultdict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for record in sent:
        if record.topic == "ad-impressions" and record.label in ("normal", "out_of_order"):
            event = json.loads(record.value or b"")
            filled[event["campaign_id"]].setdefault((event["transaction_id"], event["slot_id"]), record.send_at)
    reached = [sorted(filled[goal.campaign_id].values())[goal.impressions - 1] for goal in goals]
    planned = [10 + 30 * (FIRST_CAP_SHARE + (LAST_CAP_SHARE - FIRST_CAP_SHARE) * n / 7) for n in range(8)]
    assert planned == pytest.approx(reached, rel=0.2)
    assert {(int(STARTED_AT * 1000), int(STARTED_AT * 1000) + 40_000)} == {(g.starts_at, g.ends_at) for g in goals}
