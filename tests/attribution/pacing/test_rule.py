from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings

from examples.attribution.correlation.rule import BILLABLE, Event, Result, correlate
from examples.attribution.pacing.rule import CampaignCount, Goal, count_slots, pacing
from examples.attribution.settings import DemoSettings
from tests.attribution.correlation.histories import WINDOWS
from tests.attribution.pacing.histories import FOREVER, transactions

SETTINGS = DemoSettings()
SLOT = Result("t/1500/slot/a", 2, "slot", "pending", "t", 1500, "c", 1500, "src:0:1", 1500, clock_skew=False)
ONE_SHARD = replace(SETTINGS, pacing_shards=1)
GOAL = Goal("c", 100, 1_000, 3_000)


@pytest.mark.parametrize(
    ("code", "delivered", "reserved", "request_ts", "bucket_ts"),
    [("filled", 1, 0, 999, 0), ("pending", 0, 1, 1_000, 1_000), ("unfilled", 0, 0, 1_999, 1_000)],
)
def test_code_and_request_time_decide_the_count_of_a_slot(
    code: str, delivered: int, reserved: int, request_ts: int, bucket_ts: int
) -> None:
    """A bucket includes its first millisecond, and ends one millisecond before the next bucket."""
    counted = count_slots([replace(SLOT, code=code, request_ts=request_ts)], ONE_SHARD)

    assert [CampaignCount("c", bucket_ts, 0, 2, 1, delivered, reserved)] == counted


@hypothesis_settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(history=transactions())
def test_only_billable_impressions_count_as_delivered(history: list[Event]) -> None:
    """Duplicate, orphan and late impressions do not count, and after all timeouts no slot is reserved."""
    results = correlate(history, WINDOWS, FOREVER)

    counts = count_slots(results, SETTINGS)

    billable = sum(result.kind == "impression" and result.code in BILLABLE for result in results)
    slots = sum(result.kind == "slot" for result in results)
    assert (billable, 0, slots) == (
        sum(count.delivered for count in counts),
        sum(count.reserved for count in counts),
        sum(count.slots for count in counts),
    )


@pytest.mark.parametrize(
    ("now", "index"),
    [(999, None), (1_000, None), (1_500, 2.0), (2_000, 1.0), (3_000, 0.5), (9_000, 0.5)],
    ids=["before", "start", "ahead", "on plan", "end", "after"],
)
def test_pacing_index_compares_with_an_even_plan(now: int, index: float | None) -> None:
    """Fifty of a hundred impressions are on plan after half of the time; after the end, the plan stays constant."""
    assert index == pacing(50, 0, GOAL, now).index


@pytest.mark.parametrize(("impressions", "ends_at"), [(0, 3_000), (100, 1_000)], ids=["nothing", "no time"])
def test_goal_without_pacing_index_is_rejected(impressions: int, ends_at: int) -> None:
    remedy = "use at least 1 impression and an end after the start"
    with pytest.raises(ValueError, match=rf"the goal of 'c' is invalid .* {remedy}"):
        Goal("c", impressions, 1_000, ends_at)
