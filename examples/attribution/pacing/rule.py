"""The pacing rule in plain Python: count delivered and reserved impressions, and compute how many remain."""

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

from examples.attribution.correlation.rule import Result
from examples.attribution.settings import Settings


@dataclass(frozen=True)
class CampaignCount:
    """Counts of one campaign's ad slots in one request-time bucket and one shard of transactions."""

    campaign_id: str
    bucket_ts: int
    """Start of the bucket of request times, in UTC milliseconds."""
    shard: int
    version: int
    """Sum of the newest versions of all ad slots. Each new version of an ad slot increases the sum."""
    slots: int
    delivered: int
    """Number of `filled` ad slots."""
    reserved: int
    """Number of `pending` ad slots, which can still get an impression."""

    @property
    def result_id(self) -> str:
        """Return the id of the count. For each id, only the highest version is valid."""
        return f"{self.campaign_id}/{self.bucket_ts}/{self.shard}"


@dataclass(frozen=True)
class Goal:
    """A campaign's goal: a number of billable impressions between two times (UTC milliseconds)."""

    campaign_id: str
    impressions: int
    starts_at: int
    ends_at: int

    def __post_init__(self) -> None:
        """Raise ValueError if the pacing index of the goal would be undefined."""
        if self.impressions < 1 or self.ends_at <= self.starts_at:
            raise ValueError(
                f"the goal of {self.campaign_id!r} is invalid ({self.impressions!r} impressions from "
                f"{self.starts_at!r} to {self.ends_at!r}), so its pacing index is undefined; use at least 1 impression "
                f"and an end after the start"
            )


@dataclass(frozen=True)
class Pacing:
    """A campaign's progress toward its goal."""

    delivered: int
    reserved: int
    available: int
    """Number of impressions that can still be served. At 0 or less, the next ad slots can go to other campaigns."""
    index: float | None
    """Delivered impressions divided by those of an even delivery until now, or None before the start of the goal."""


def count_slots(results: Iterable[Result], settings: Settings) -> list[CampaignCount]:
    """Return the counts of all ad slots in `results`, which can contain several versions of a slot in any order."""
    newest: dict[tuple[str, int, int], dict[str, tuple[int, str]]] = {}
    bucket_ms = bucket_length_ms(settings)
    for result in results:
        if result.kind == "slot":
            bucket_ts = result.request_ts - result.request_ts % bucket_ms
            shard = crc32(result.transaction_id.encode()) % settings.pacing_shards
            slots = newest.setdefault((result.campaign_id, bucket_ts, shard), {})
            slots[result.result_id] = max(slots.get(result.result_id, (0, "")), (result.version, result.code))
    return [_count(key, list(slots.values())) for key, slots in sorted(newest.items())]


def bucket_length_ms(settings: Settings) -> int:
    """Return the length of a request-time bucket in milliseconds."""
    return 1000 * settings.pacing_bucket_seconds


def pacing(delivered: int, reserved: int, goal: Goal, now: int) -> Pacing:
    """Return a campaign's progress toward `goal` at `now` (UTC milliseconds)."""
    elapsed = min(now, goal.ends_at) - goal.starts_at
    planned = goal.impressions * elapsed / (goal.ends_at - goal.starts_at)
    return Pacing(
        delivered, reserved, goal.impressions - delivered - reserved, delivered / planned if planned > 0 else None
    )


def _count(key: tuple[str, int, int], slots: list[tuple[int, str]]) -> CampaignCount:
    codes = [code for _, code in slots]
    version = sum(version for version, _ in slots)
    return CampaignCount(*key, version, len(slots), codes.count("filled"), codes.count("pending"))
