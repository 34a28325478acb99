"""The pacing rule: what a campaign has delivered and promised, whatever order the results come in."""

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.pacing.rule import CampaignCount, Goal, count_slots, pacing
from examples.attribution.results import BILLABLE
from examples.attribution.settings import Settings
from tests.attribution.correlation.histories import WINDOWS
from tests.attribution.pacing.histories import FOR_EVER, transactions, versions

SETTINGS = Settings()
SLOT = Result("t/1500/slot/a", 2, "slot", "pending", "t", 1500, "c", 1500, "src:0:1", 1500, clock_skew=False)
ONE = replace(SETTINGS, pacing_shards=1)
GOAL = Goal("c", 100, 1_000, 3_000)


@pytest.mark.parametrize(
    ("code", "delivered", "reserved"), [("filled", 1, 0), ("pending", 0, 1), ("unfilled", 0, 0)], ids=str
)
def test_a_slot_counts_as_its_code_says(code: str, delivered: int, reserved: int) -> None:
    """A filled slot is delivered, an open one is reserved, an empty one is neither."""
    counted = count_slots([replace(SLOT, code=code)], ONE)

    assert [CampaignCount("c", 1_000, 0, 2, 1, delivered, reserved)] == counted


def test_a_restated_slot_moves_what_was_delivered_in_both_directions() -> None:
    """A match after a time-out is delivered, and a match that is taken back is not."""
    empty, filled = replace(SLOT, code="unfilled", version=3), replace(SLOT, code="filled", version=4)
    restated = replace(SLOT, code="unfilled", version=7)

    assert [CampaignCount("c", 1_000, 0, 3, 1, 0, 0)] == count_slots([SLOT, empty], ONE)
    assert [CampaignCount("c", 1_000, 0, 4, 1, 1, 0)] == count_slots([SLOT, empty, filled], ONE)
    assert [CampaignCount("c", 1_000, 0, 7, 1, 0, 0)] == count_slots([SLOT, empty, filled, restated], ONE)


@pytest.mark.parametrize(
    ("request_ts", "bucket_ts"),
    [(999, 0), (1_000, 1_000), (1_999, 1_000), (2_000, 2_000)],
    ids=["just before", "first", "last", "just after"],
)
def test_a_slot_lies_in_the_bucket_of_its_request(request_ts: int, bucket_ts: int) -> None:
    """The first millisecond of a bucket is inside it, and the last is the one before the next."""
    assert [bucket_ts] == [count.bucket_ts for count in count_slots([replace(SLOT, request_ts=request_ts)], ONE)]


@hypothesis_settings(deadline=None, derandomize=True, database=None)
@given(emitted=versions(), data=st.data())
def test_any_order_and_repetition_of_results_gives_the_same_counts(emitted: list[Result], data: st.DataObject) -> None:
    """Kafka may deliver again and a restarted query may emit again: the counts depend on the set alone."""
    other = data.draw(st.permutations(emitted + emitted[:3]))

    assert count_slots(emitted, SETTINGS) == count_slots([asdict(result) for result in other], SETTINGS)


@hypothesis_settings(deadline=None, derandomize=True, database=None)
@given(emitted=versions(), data=st.data())
def test_a_count_with_more_known_has_the_higher_version(emitted: list[Result], data: st.DataObject) -> None:
    """Whoever keeps the highest version keeps the count that knows most; an equal one has nothing new."""
    known = data.draw(st.integers(0, len(emitted)))
    before = {count.result_id: count for count in count_slots(emitted[:known], SETTINGS)}
    after = {count.result_id: count for count in count_slots(emitted, SETTINGS)}

    assert all(count == after[key] or count.version < after[key].version for key, count in before.items())


@hypothesis_settings(deadline=None, derandomize=True, database=None)
@given(history=transactions())
def test_only_an_impression_that_is_billed_is_delivered(history: list[Event]) -> None:
    """Duplicates, orphans and late impressions never move the count, and in the end nothing is reserved."""
    results = correlate(history, WINDOWS, FOR_EVER)

    counts = count_slots(results, SETTINGS)

    billed = sum(result.kind == "impression" and result.code in BILLABLE for result in results)
    slots = sum(result.kind == "slot" for result in results)
    assert (billed, 0, slots) == (
        sum(count.delivered for count in counts),
        sum(count.reserved for count in counts),
        sum(count.slots for count in counts),
    )


@hypothesis_settings(deadline=None, derandomize=True, database=None)
@given(many=st.lists(versions(), min_size=1, max_size=5), shards=st.integers(1, 9), seconds=st.integers(1, 5))
def test_shards_and_buckets_do_not_change_what_a_campaign_has(
    many: list[list[Result]], shards: int, seconds: int
) -> None:
    """However the counters are spread, their sum is the campaign's."""
    emitted = [result for own in many for result in own]
    spread = replace(SETTINGS, pacing_shards=shards, pacing_bucket_seconds=seconds)

    assert totals(count_slots(emitted, ONE)) == totals(count_slots(emitted, spread))
    assert {count.shard for count in count_slots(emitted, spread)} <= set(range(shards))


def totals(counts: list[CampaignCount]) -> dict[str, tuple[int, int, int, int]]:
    """Return version, slots, delivered and reserved of each campaign."""
    found: dict[str, tuple[int, int, int, int]] = {}
    for count in counts:
        version, slots, delivered, reserved = found.get(count.campaign_id, (0, 0, 0, 0))
        found[count.campaign_id] = (
            version + count.version,
            slots + count.slots,
            delivered + count.delivered,
            reserved + count.reserved,
        )
    return found


@pytest.mark.parametrize(
    ("delivered", "reserved", "available"),
    [(60, 39, 1), (60, 40, 0), (100, 0, 0), (60, 41, -1)],
    ids=["one left", "promised to the last", "delivered to the last", "beyond"],
)
def test_what_is_available_is_neither_delivered_nor_reserved(delivered: int, reserved: int, available: int) -> None:
    """A reservation takes from the goal like a delivery, until it is released."""
    assert available == pacing(delivered, reserved, GOAL, 2_000).available


@pytest.mark.parametrize(
    ("now", "index"),
    [(999, None), (1_000, None), (1_500, 2.0), (2_000, 1.0), (3_000, 0.5), (9_000, 0.5)],
    ids=["before", "start", "ahead", "on plan", "end", "after"],
)
def test_the_pacing_index_compares_with_an_even_plan(now: int, index: float | None) -> None:
    """Fifty of a hundred are on plan after half of the time; after the end the plan stays where it is."""
    assert index == pacing(50, 0, GOAL, now).index


@pytest.mark.parametrize(("impressions", "ends_at"), [(0, 3_000), (100, 1_000)], ids=["nothing", "no time"])
def test_a_goal_without_plan_is_refused(impressions: int, ends_at: int) -> None:
    """The message names the campaign and what to do."""
    with pytest.raises(ValueError, match=r"the goal of 'c' is .* use at least 1 impression and an end after the start"):
        Goal("c", impressions, 1_000, ends_at)
