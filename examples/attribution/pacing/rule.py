"""
The pacing rule in plain Python: what a campaign has delivered, what it has promised, and what is left of its goal.

What arrives are slot results in any order, and goals; what leaves are counts, and where a campaign stands.
Real-time mode demands whole counts instead of increments: a row that is sent again must not count again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from zlib import crc32

from examples.attribution.correlation.rule import Result
from examples.attribution.settings import Settings


@dataclass(frozen=True)
class CampaignCount:
    """The slots of one campaign whose requests lie in one bucket and whose transactions fall to one shard."""

    campaign_id: str
    bucket_ts: int
    """Start of the bucket, by the request's time in UTC milliseconds."""
    shard: int
    version: int
    """The sum of the newest versions of the slots: it grows with all that becomes known."""
    slots: int
    delivered: int
    """Slots that are `filled`."""
    reserved: int
    """Slots that are `pending`: an impression may still come."""

    @property
    def result_id(self) -> str:
        """Return what the count is known by; its highest version is the truth."""
        return f"{self.campaign_id}/{self.bucket_ts}/{self.shard}"


@dataclass(frozen=True)
class Goal:
    """What a contract asks for: billable impressions between two times in UTC milliseconds."""

    campaign_id: str
    impressions: int
    starts_at: int
    ends_at: int

    def __post_init__(self) -> None:
        """Refuse a goal that no index can be computed for."""
        if self.impressions < 1 or self.ends_at <= self.starts_at:
            raise ValueError(
                f"the goal of {self.campaign_id!r} is {self.impressions!r} impressions from {self.starts_at!r} to "
                f"{self.ends_at!r}, so that its plan has no slope; use at least 1 impression and an end after the start"
            )


@dataclass(frozen=True)
class Pacing:
    """How a campaign stands against its goal."""

    delivered: int
    reserved: int
    available: int
    """What may still be served: at 0 or below, the next slots are for resale."""
    index: float | None
    """Delivered, divided by what an even plan would have delivered by now; None before the start."""


def count_slots(results: Iterable[Result | Mapping[str, Any]], settings: Settings) -> list[CampaignCount]:
    """Return the counts of all slots among `results`, of which any versions may come in any order."""
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
    """Return the length of a bucket in milliseconds."""
    return 1000 * settings.pacing_bucket_seconds


def pacing(delivered: int, reserved: int, goal: Goal, now: int) -> Pacing:
    """Return how a campaign stands against `goal` at `now` (UTC milliseconds)."""
    elapsed = min(now, goal.ends_at) - goal.starts_at
    planned = goal.impressions * elapsed / (goal.ends_at - goal.starts_at)
    return Pacing(
        delivered, reserved, goal.impressions - delivered - reserved, delivered / planned if planned > 0 else None
    )


def _count(key: tuple[str, int, int], slots: list[tuple[int, str]]) -> CampaignCount:
    codes = [code for _, code in slots]
    version = sum(version for version, _ in slots)
    return CampaignCount(*key, version, len(slots), codes.count("filled"), codes.count("pending"))
