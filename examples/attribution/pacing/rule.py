"""
The pacing rule in plain Python: delivered and reserved impressions of a campaign, and the rest of its goal.

A count is a total and never an increment, so a duplicate row does not count twice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from zlib import crc32

from examples.attribution.correlation.rule import Result
from examples.attribution.settings import Settings


@dataclass(frozen=True)
class CampaignCount:
    """The slots of one campaign whose requests are in one bucket and whose transactions are in one shard."""

    campaign_id: str
    bucket_ts: int
    """Start of the bucket in UTC milliseconds; the time of the request decides on the bucket."""
    shard: int
    version: int
    """The sum of the newest versions of the slots; it grows with every new version of a slot."""
    slots: int
    delivered: int
    """Slots that are `filled`."""
    reserved: int
    """Slots that are `pending`: an impression may still arrive."""

    @property
    def result_id(self) -> str:
        """Return the id of the count; its highest version is the valid one."""
        return f"{self.campaign_id}/{self.bucket_ts}/{self.shard}"


@dataclass(frozen=True)
class Goal:
    """The goal of a campaign: billable impressions between two times in UTC milliseconds."""

    campaign_id: str
    impressions: int
    starts_at: int
    ends_at: int

    def __post_init__(self) -> None:
        """Raise ValueError for a goal that has no pacing index."""
        if self.impressions < 1 or self.ends_at <= self.starts_at:
            raise ValueError(
                f"the goal of {self.campaign_id!r} is {self.impressions!r} impressions from {self.starts_at!r} to "
                f"{self.ends_at!r}, so it has no pacing index; use at least 1 impression and an end after the start"
            )


@dataclass(frozen=True)
class Pacing:
    """The progress of a campaign towards its goal."""

    delivered: int
    reserved: int
    available: int
    """Impressions that may still be served; at 0 or below, the next slots are for resale."""
    index: float | None
    """Delivered impressions divided by those of an even plan up to now; None before the start."""


def count_slots(results: Iterable[Result | Mapping[str, Any]], settings: Settings) -> list[CampaignCount]:
    """Return the counts of all slots among `results`; these may contain any versions, in any order."""
    newest: dict[tuple[str, int, int], dict[str, tuple[int, str]]] = {}
    bucket_ms = bucket_length_ms(settings)
    for result in results:
        row = asdict(result) if isinstance(result, Result) else result
        if row["kind"] == "slot":
            bucket_ts = row["request_ts"] - row["request_ts"] % bucket_ms
            shard = crc32(row["transaction_id"].encode()) % settings.pacing_shards
            slots = newest.setdefault((row["campaign_id"], bucket_ts, shard), {})
            known = slots.get(row["result_id"], (0, ""))
            slots[row["result_id"]] = max(known, (row["version"], row["code"]))
    return [_count(key, list(slots.values())) for key, slots in sorted(newest.items())]


def bucket_length_ms(settings: Settings) -> int:
    """Return the length of a bucket of request times in milliseconds."""
    return 1000 * settings.pacing_bucket_seconds


def pacing(delivered: int, reserved: int, goal: Goal, now: int) -> Pacing:
    """Return the progress of a campaign towards `goal` at `now` (UTC milliseconds)."""
    elapsed = min(now, goal.ends_at) - goal.starts_at
    planned = goal.impressions * elapsed / (goal.ends_at - goal.starts_at)
    return Pacing(
        delivered, reserved, goal.impressions - delivered - reserved, delivered / planned if planned > 0 else None
    )


def _count(key: tuple[str, int, int], slots: list[tuple[int, str]]) -> CampaignCount:
    codes = [code for _, code in slots]
    version = sum(version for version, _ in slots)
    return CampaignCount(*key, version, len(slots), codes.count("filled"), codes.count("pending"))
