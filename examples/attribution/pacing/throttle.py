"""
Stop serving a campaign when it reaches its cap, as an ad server does.

A count can arrive twice, and a restarted query sends older counts again, so the throttle keeps only the newest version
of each count.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from confluent_kafka import Consumer

from examples.attribution.pacing.rule import CampaignCount, Goal, Pacing, pacing
from examples.attribution.settings import Settings
from examples.attribution.topics import PACING_TOPIC
from spark_rtm.kafka.consumer import consumer_from_start, is_record, json_object

POLL_SECONDS = 0.1
FAST_FETCH = {
    # Impressions served before a new count is read can exceed the cap, so a fetch returns as soon as one record is
    # available.
    "fetch.min.bytes": 1,
    "fetch.wait.max.ms": 100,
}
COUNT_FIELDS = get_type_hints(CampaignCount)


@dataclass(frozen=True)
class Notice:
    """A notice that a campaign has reached its cap or, after a reserved ad slot was released, can be served again."""

    at_ms: int
    """Time at which the count was read, in UTC milliseconds."""
    code: Literal["cap_reached", "cap_reopened"]
    campaign_id: str
    delivered: int
    reserved: int
    available: int


class DeliveryThrottle:
    """Keeps the counts of all campaigns, and the set of campaigns at their caps. A campaign without a goal is open."""

    def __init__(self, goals: Iterable[Goal]) -> None:
        self.goals = {goal.campaign_id: goal for goal in goals}
        self.counts: dict[str, CampaignCount] = {}
        """The newest version of each count, by result id."""
        self.notices: list[Notice] = []
        self.unreadable = 0
        """Number of skipped records that are not counts. Set up an alert for any increase."""
        self.future: Future[None] = Future()
        self._delivered: Counter[str] = Counter()
        self._reserved: Counter[str] = Counter()
        self._closed: set[str] = set()

    def is_open(self, campaign_id: str) -> bool:
        """Return whether the campaign may be served. Thread-safe."""
        return campaign_id not in self._closed

    def pacing_of(self, campaign_id: str, now: int) -> Pacing:
        """Return the pacing of a campaign with a goal, at `now` (UTC milliseconds)."""
        return pacing(self._delivered[campaign_id], self._reserved[campaign_id], self.goals[campaign_id], now)

    def update(self, count: CampaignCount, now: int) -> None:
        """Apply a count that was read at `now`, unless the same or a newer version is already known."""
        known = self.counts.get(count.result_id)
        if known is not None and count.version <= known.version:
            return
        self.counts[count.result_id] = count
        campaign_id = count.campaign_id
        self._delivered[campaign_id] += count.delivered - (known.delivered if known else 0)
        self._reserved[campaign_id] += count.reserved - (known.reserved if known else 0)
        if campaign_id in self.goals:
            self._open_or_close(campaign_id, now)

    def raise_if_failed(self) -> None:
        """If the thread that reads the counts has failed, raise its exception."""
        if self.future.done():
            self.future.result()

    def _open_or_close(self, campaign_id: str, now: int) -> None:
        current = self.pacing_of(campaign_id, now)
        must_close = current.available <= 0
        if must_close == self.is_open(campaign_id):
            (self._closed.add if must_close else self._closed.discard)(campaign_id)
            code: Literal["cap_reached", "cap_reopened"] = "cap_reached" if must_close else "cap_reopened"
            self.notices.append(Notice(now, code, campaign_id, current.delivered, current.reserved, current.available))


@contextmanager
def delivery_throttle(
    bootstrap_servers: str, settings: Settings, partitions: int, goals: Iterable[Goal]
) -> Iterator[DeliveryThrottle]:
    """Yield a throttle that, while the block runs, reads all `partitions` partitions of `ad-pacing` from the start."""
    throttle = DeliveryThrottle(goals)
    finish = threading.Event()
    consumer = consumer_from_start(bootstrap_servers, {settings.topic(PACING_TOPIC): partitions}, FAST_FETCH)
    with ThreadPoolExecutor(1, "delivery_throttle") as threads:
        throttle.future = threads.submit(_consume, throttle, consumer, finish.is_set)
        try:
            yield throttle
        finally:
            finish.set()


def _consume(throttle: DeliveryThrottle, consumer: Consumer, is_over: Callable[[], bool]) -> None:
    try:
        while not is_over():
            message = consumer.poll(POLL_SECONDS)
            if message is not None and is_record(message):
                row = json_object(message.value(), COUNT_FIELDS)
                if row is None:
                    throttle.unreadable += 1
                else:
                    throttle.update(_count(row), int(time.time() * 1000))
    finally:
        consumer.close()


def _count(row: Mapping[str, Any]) -> CampaignCount:
    return CampaignCount(**{name: row[name] for name in COUNT_FIELDS})
