"""The brake: a campaign is closed at its cap and opened again when something is left, whatever Kafka sends twice."""

import json
import random
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from examples.attribution.attributed_to_pacing import attributed_to_pacing
from examples.attribution.correlation.rule import Result
from examples.attribution.pacing.rule import CampaignCount, Goal, count_slots
from examples.attribution.pacing.throttle import Brake, Notice, brake
from examples.attribution.settings import Settings
from examples.attribution.topics import PACING_TOPIC
from examples.realtime.proof import assert_real_time
from tests.attribution.hops import Hop, Mailbox
from tests.attribution.pacing.histories import CAMPAIGNS, versions
from tests.helpers import eventually, produce

PARTITIONS = 2
T = 10_000
COUNT = CampaignCount("c", T, 0, 0, 0, 0, 0)
GOAL = Goal("c", 10, 0, T)


def counts(*standings: tuple[int, int]) -> list[CampaignCount]:
    """Return counts of one group that come one after the other, from what is delivered and reserved."""
    return [replace(COUNT, version=n, delivered=d, reserved=r) for n, (d, r) in enumerate(standings, 1)]


def taken(goals: Iterable[Goal], read: Iterable[CampaignCount]) -> Brake:
    """Return a brake that has read counts, the n-th of them at n."""
    own = Brake(goals)
    for now, count in enumerate(read, 1):
        own.take(count, now)
    return own


@pytest.mark.parametrize(
    ("delivered", "reserved", "is_open"),
    [(0, 9, True), (0, 10, False), (9, 0, True), (10, 0, False), (4, 5, True), (4, 6, False), (11, 0, False)],
)
def test_a_campaign_is_open_until_its_last_impression_is_promised(
    delivered: int, reserved: int, *, is_open: bool
) -> None:
    """The slot that uses the goal up is the last one, delivered or not."""
    assert is_open == taken([GOAL], counts((delivered, reserved))).is_open("c")


def test_each_change_gives_one_notice_with_the_numbers_behind_it() -> None:
    """Closing and opening are told once each, however many counts come in between."""
    read = counts((0, 9), (0, 10), (1, 10), (1, 9), (1, 8), (9, 0), (10, 0))

    own = taken([GOAL], read)

    assert [
        Notice(2, "cap_reached", "c", 0, 10, 0),
        Notice(5, "cap_reopened", "c", 1, 8, 1),
        Notice(7, "cap_reached", "c", 10, 0, 0),
    ] == own.notices


def test_groups_of_a_campaign_add_up_and_others_do_not_matter() -> None:
    """Shards and buckets are parts of one campaign; another campaign's slots are not."""
    parts = [replace(COUNT, version=1, delivered=3, shard=shard, bucket_ts=T + shard // 2) for shard in range(3)]

    own = taken([GOAL], [*parts, replace(COUNT, campaign_id="other", version=1, delivered=100)])

    assert own.is_open("c")
    assert (9, 0, 1, 1.8) == tuple(asdict(own.standing("c", T // 2)).values())
    own.take(replace(COUNT, version=1, delivered=1, shard=3), 5)
    assert not own.is_open("c")


def test_a_campaign_without_goal_is_never_closed() -> None:
    """What nobody has limited is always served."""
    own = taken([], counts((10**9, 0)))

    assert own.is_open("c")
    assert [] == own.notices


def test_repeats_and_older_counts_change_nothing() -> None:
    """A restarted query sends again what it had not committed, older counts first."""
    first, second, third = counts((0, 9), (0, 10), (9, 0))

    own = taken([GOAL], [first, second, third, third, first, second])

    assert ["cap_reached", "cap_reopened"] == [notice.code for notice in own.notices]
    assert {third.result_id: third} == own.counts
    assert own.is_open("c")


@hypothesis_settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(many=st.lists(versions(), min_size=1, max_size=3), goal=st.integers(1, 4), data=st.data())
def test_after_any_stream_of_counts_only_campaigns_at_their_caps_are_closed(
    many: list[list[Result]], goal: int, data: st.DataObject
) -> None:
    """Counts of two runs that read in different orders, mixed, leave the brake where the rule's sums put it."""
    emitted = [result for own in many for result in own]
    orders = (emitted, data.draw(st.permutations(emitted)))
    running = [c for order in orders for n in range(1, len(order) + 1) for c in count_slots(order[:n], Settings())]
    mixed = data.draw(st.randoms(use_true_random=False)).sample(running, len(running))

    own = taken([Goal(name, goal, 0, T) for name in CAMPAIGNS], [*mixed, *running[:2]])

    newest = count_slots(emitted, Settings())
    assert {count.result_id: count for count in newest} == own.counts
    for name in CAMPAIGNS:
        used = sum(count.delivered + count.reserved for count in newest if count.campaign_id == name)
        assert (used < goal) == own.is_open(name)
        codes = [notice.code for notice in own.notices if notice.campaign_id == name]
        assert ["cap_reached" if n % 2 == 0 else "cap_reopened" for n in range(len(codes))] == codes


def publish(kafka: str, settings: Settings, *read: CampaignCount) -> None:
    """Append counts to the topic as the hop does."""
    rows = [json.dumps({"result_id": count.result_id, **asdict(count)}).encode() for count in read]
    produce(kafka, settings.topic(PACING_TOPIC), [(n % PARTITIONS, row) for n, row in enumerate(rows)])


@pytest.mark.services
def test_a_brake_that_starts_late_learns_everything_from_the_topic(kafka: str, settings: Settings) -> None:
    """An ad server that is restarted reads the topic from its start and goes on with what is new."""
    reached, reopened = counts((4, 6), (4, 5))
    publish(kafka, settings, reached)

    with brake(kafka, settings, PARTITIONS, [GOAL]) as own:
        eventually(lambda: not own.is_open("c"), 20, "the closed campaign")
        publish(kafka, settings, reopened)
        eventually(lambda: own.is_open("c"), 20, "the open campaign")
        own.raise_if_failed()

    assert own.running.done()
    assert ["cap_reached", "cap_reopened"] == [notice.code for notice in own.notices]


@pytest.mark.services
def test_a_row_that_is_no_count_fails_the_brake(kafka: str, settings: Settings) -> None:
    """A brake that no longer follows must not look like one that sees no cap."""
    produce(kafka, settings.topic(PACING_TOPIC), [(0, b'{"campaign_id": "c"}')])

    with brake(kafka, settings, PARTITIONS, [GOAL]) as own:
        eventually(own.running.done, 20, "the end of the reader")
        with pytest.raises(KeyError, match="bucket_ts"):
            own.raise_if_failed()


@pytest.mark.spark
@pytest.mark.services
@pytest.mark.timeout(300)
def test_a_campaign_is_closed_while_the_real_time_query_counts(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """Reserved slots reach the cap, an empty one opens it again, and deliveries close it for good."""
    hop = Hop(spark, kafka, lambda rows: attributed_to_pacing(rows, settings), tmp_path / "checkpoint")
    source, target = settings.topic("ad-attributed"), settings.topic(PACING_TOPIC)
    hop.start([source], target, real_time=True)
    assert_real_time(hop.query)
    box = Mailbox(kafka, target)
    slots = [
        Result(f"t{n}/a", 2, "slot", "pending", f"t{n}", T + 100 * n, "c", T, f"src:0:{n}", T, clock_skew=False)
        for n in range(12)
    ]

    def send(*results: Result) -> None:
        for result in results:
            box.send(source, result.result_id, asdict(result))

    with brake(kafka, settings, PARTITIONS, [GOAL]) as own:

        def await_standing(delivered: int, reserved: int) -> None:
            def stands() -> bool:
                hop.state_rows()
                own.raise_if_failed()
                found = own.standing("c", T)
                return (found.delivered, found.reserved) == (delivered, reserved)

            eventually(stands, 60, f"{delivered} delivered and {reserved} reserved")

        send(*slots[:10])
        await_standing(0, 10)
        assert not own.is_open("c")
        send(replace(slots[0], code="unfilled", version=3))
        await_standing(0, 9)
        assert own.is_open("c")
        send(slots[10], *(replace(slot, code="filled", version=4) for slot in random.Random(7).sample(slots[1:11], 10)))
        await_standing(10, 0)

    assert not own.is_open("c")
    assert ["cap_reached", "cap_reopened", "cap_reached"] == [notice.code for notice in own.notices]
