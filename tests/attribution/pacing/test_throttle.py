import json
from collections.abc import Iterable
from dataclasses import asdict, replace

import pytest
from confluent_kafka import KafkaException
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from examples.attribution.correlation.rule import Result
from examples.attribution.pacing.rule import CampaignCount, Goal, count_slots
from examples.attribution.pacing.throttle import DeliveryThrottle, Notice, delivery_throttle
from examples.attribution.settings import DemoSettings, Settings
from examples.attribution.topics import PACING_TOPIC
from tests.attribution.pacing.histories import CAMPAIGNS, versions
from tests.helpers import eventually, produce

pytestmark = pytest.mark.spark

PARTITIONS = 2
T = 10_000
COUNT = CampaignCount("c", T, 0, 0, 0, 0, 0)
GOAL = Goal("c", 10, 0, T)


def counts(*slots: tuple[int, int]) -> list[CampaignCount]:
    return [replace(COUNT, version=n, delivered=d, reserved=r) for n, (d, r) in enumerate(slots, 1)]


def throttle_after(goals: Iterable[Goal], read: Iterable[CampaignCount]) -> DeliveryThrottle:
    throttle = DeliveryThrottle(goals)
    for now, count in enumerate(read, 1):
        throttle.update(count, now)
    return throttle


def test_each_opening_and_closing_gives_one_notice() -> None:
    """A notice contains the counts that opened or closed the campaign; counts that change neither produce no notice."""
    read = counts((0, 9), (0, 10), (1, 10), (1, 9), (1, 8), (9, 0), (10, 0))

    throttle = throttle_after([GOAL], read)

    assert [
        Notice(2, "cap_reached", "c", 0, 10, 0),
        Notice(5, "cap_reopened", "c", 1, 8, 1),
        Notice(7, "cap_reached", "c", 10, 0, 0),
    ] == throttle.notices


def test_groups_of_a_campaign_are_added_up() -> None:
    """All shards and buckets of a campaign count, but not those of another campaign. Without a goal, it stays open."""
    parts = [replace(COUNT, version=1, delivered=3, shard=shard, bucket_ts=T + shard // 2) for shard in range(3)]

    throttle = throttle_after([GOAL], [*parts, replace(COUNT, campaign_id="other", version=1, delivered=100)])

    assert throttle.is_open("c")
    assert throttle.is_open("other")
    assert (9, 0, 1, 1.8) == tuple(asdict(throttle.pacing_of("c", T // 2)).values())
    throttle.update(replace(COUNT, version=1, delivered=1, shard=3), 5)
    assert not throttle.is_open("c")


@hypothesis_settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(many=st.lists(versions(), min_size=1, max_size=2), goal=st.integers(1, 4), data=st.data())
def test_any_order_of_counts_closes_only_campaigns_at_caps(
    many: list[list[Result]], goal: int, data: st.DataObject
) -> None:
    """After the mixed counts of two runs with different orders, a campaign is closed according to the rule."""
    emitted = [result for one in many for result in one]
    orders = (emitted, data.draw(st.permutations(emitted)))
    running = [c for order in orders for n in range(1, len(order) + 1) for c in count_slots(order[:n], DemoSettings())]
    mixed = data.draw(st.randoms(use_true_random=False)).sample(running, len(running))

    throttle = throttle_after([Goal(name, goal, 0, T) for name in CAMPAIGNS], [*mixed, *running[:2]])

    newest = count_slots(emitted, DemoSettings())
    assert {count.result_id: count for count in newest} == throttle.counts
    for name in CAMPAIGNS:
        used = sum(count.delivered + count.reserved for count in newest if count.campaign_id == name)
        assert (used < goal) == throttle.is_open(name)
        codes = [notice.code for notice in throttle.notices if notice.campaign_id == name]
        assert ["cap_reached" if n % 2 == 0 else "cap_reopened" for n in range(len(codes))] == codes


def publish(kafka: str, settings: Settings, *read: CampaignCount) -> None:
    rows = [json.dumps({"result_id": count.result_id, **asdict(count)}).encode() for count in read]
    produce(kafka, settings.topic(PACING_TOPIC), [(n % PARTITIONS, row) for n, row in enumerate(rows)])


@pytest.mark.services
def test_restarted_throttle_reads_the_topic_from_its_start(kafka: str, settings: Settings) -> None:
    """Records that are not counts are skipped and counted, and do not end the reader."""
    garbage = [None, b"", b"{bad", b"[]", b"[" * 100_000, b"\xff", b'{"campaign_id": "c"}']
    produce(kafka, settings.topic(PACING_TOPIC), [(0, value) for value in garbage])
    reached, reopened = counts((4, 6), (4, 5))
    publish(kafka, settings, reached)

    with delivery_throttle(kafka, settings, PARTITIONS, [GOAL]) as throttle:
        eventually(lambda: not throttle.is_open("c") or throttle.future.done(), 60, "the closed campaign")
        publish(kafka, settings, reopened)
        eventually(lambda: throttle.is_open("c") or throttle.future.done(), 60, "the open campaign")
        throttle.raise_if_failed()

    assert throttle.future.done()
    assert ["cap_reached", "cap_reopened"] == [notice.code for notice in throttle.notices]
    assert len(garbage) == throttle.unreadable


def test_error_of_the_reader_fails_the_throttle() -> None:
    throttle = throttle_after([GOAL], [])
    throttle.future.set_exception(KafkaException("no access"))

    with pytest.raises(KafkaException, match="no access"):
        throttle.raise_if_failed()
