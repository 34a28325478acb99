"""
Stop serving a campaign at its cap: the ad server's side of pacing.

What arrives are records of `ad-pacing` and goals; what leaves are the answer whether a campaign may be served, and a
notice whenever that changes.
Real-time mode demands a reader that keeps the newest counts: rows are repeated, and a restarted query sends older ones.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Literal

from confluent_kafka import Consumer

from examples.attribution.pacing.rule import CampaignCount, Goal, Pacing, pacing
from examples.attribution.settings import Settings
from examples.attribution.topics import PACING_TOPIC
from examples.kafka.client import consumer_from_start, is_record

POLL_SECONDS = 0.1
CONSUMER = {
    # Every millisecond until a count is read is served beyond the cap, so fetches do not wait for more records.
    "fetch.min.bytes": 1,
    "fetch.wait.max.ms": 100,
}


@dataclass(frozen=True)
class Notice:
    """A campaign has reached its cap, or is open again because reserved slots stayed empty or were restated."""

    at_ms: int
    """When the count was read, in UTC milliseconds."""
    code: Literal["cap_reached", "cap_reopened"]
    campaign_id: str
    delivered: int
    reserved: int
    available: int


class Brake:
    """
    What the ad server knows of all campaigns.

    A campaign without goal is always open.
    """

    def __init__(self, goals: Iterable[Goal]) -> None:
        """Start with all campaigns open."""
        self.goals = {goal.campaign_id: goal for goal in goals}
        self.counts: dict[str, CampaignCount] = {}
        """The newest version by result id."""
        self.notices: list[Notice] = []
        self.running: Future[None] = Future()
        self._delivered: Counter[str] = Counter()
        self._reserved: Counter[str] = Counter()
        self._closed: set[str] = set()

    def is_open(self, campaign_id: str) -> bool:
        """Tell whether the campaign may be served; may be asked from any thread."""
        return campaign_id not in self._closed

    def standing(self, campaign_id: str, now: int) -> Pacing:
        """Return how a campaign stands against its goal at `now` (UTC milliseconds)."""
        return pacing(self._delivered[campaign_id], self._reserved[campaign_id], self.goals[campaign_id], now)

    def take(self, count: CampaignCount, now: int) -> None:
        """Take a count that was read at `now`; one that is not newer than what is known changes nothing."""
        known = self.counts.get(count.result_id)
        if known is not None and count.version <= known.version:
            return
        self.counts[count.result_id] = count
        campaign_id = count.campaign_id
        self._delivered[campaign_id] += count.delivered - (known.delivered if known else 0)
        self._reserved[campaign_id] += count.reserved - (known.reserved if known else 0)
        if campaign_id in self.goals:
            self._decide(campaign_id, now)

    def raise_if_failed(self) -> None:
        """Raise what the reader failed with, if it has."""
        if self.running.done():
            self.running.result()

    def _decide(self, campaign_id: str, now: int) -> None:
        standing = self.standing(campaign_id, now)
        must_close = standing.available <= 0
        if must_close == self.is_open(campaign_id):
            (self._closed.add if must_close else self._closed.discard)(campaign_id)
            code: Literal["cap_reached", "cap_reopened"] = "cap_reached" if must_close else "cap_reopened"
            numbers = (standing.delivered, standing.reserved, standing.available)
            self.notices.append(Notice(now, code, campaign_id, *numbers))


@contextmanager
def brake(bootstrap_servers: str, settings: Settings, partitions: int, goals: Iterable[Goal]) -> Iterator[Brake]:
    """Follow `ad-pacing` with its `partitions` from the start while the block runs."""
    own, finish, topic = Brake(goals), threading.Event(), settings.topic(PACING_TOPIC)
    consumer = consumer_from_start(bootstrap_servers, {topic: partitions}, CONSUMER)
    with ThreadPoolExecutor(1, "brake") as threads:
        own.running = threads.submit(_follow, own, consumer, finish.is_set)
        try:
            yield own
        finally:
            finish.set()


def _follow(own: Brake, consumer: Consumer, is_over: Callable[[], bool]) -> None:
    try:
        while not is_over():
            message = consumer.poll(POLL_SECONDS)
            if message is not None and is_record(message):
                own.take(_count(json.loads(message.value() or b"")), int(time.time() * 1000))
    finally:
        consumer.close()


def _count(row: Mapping[str, Any]) -> CampaignCount:
    return CampaignCount(**{field.name: row[field.name] for field in fields(CampaignCount)})
