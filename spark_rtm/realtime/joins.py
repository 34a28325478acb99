"""
Join two streams with a union and an aggregation, because real-time mode of OSS has no stream-stream joins.

The state of a key and a time bucket contains the rows of both streams. After each row, the query writes all pairs of
the row's bucket again, so the sink must upsert pairs by their ids. Real-time mode and micro-batch mode write the same
pairs for rows in any order.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SIDES = ("left", "right")
MICROS = 1_000_000


@dataclass(frozen=True)
class TimeBound:
    """How far apart the two rows of a pair may be, and how late rows may arrive."""

    within_seconds: int
    """A pair needs `left.at - before_seconds <= right.at <= left.at + within_seconds`."""
    lateness_seconds: int
    """Maximum time by which a row may be older than the slower stream's newest row and still find its partner."""
    before_seconds: int = 0
    """How much earlier than a left row its right row may occur. In a symmetric bound, it equals `within_seconds`."""

    def __post_init__(self) -> None:
        """Reject a bound without buckets, and a bound that would drop rows that arrive in time."""
        if self.within_seconds < 1 or self.lateness_seconds < 0 or self.before_seconds < 0:
            raise ValueError(f"{self}: within_seconds must be at least 1, and no other number may be negative")

    @property
    def length_seconds(self) -> int:
        """Return the length of a bucket, which equals the length of the bound."""
        return self.before_seconds + self.within_seconds

    @property
    def watermark(self) -> str:
        """Return the delay after which a bucket is complete."""
        return f"{2 * self.length_seconds + self.lateness_seconds} seconds"


def inner_join(left: DataFrame, right: DataFrame, bound: TimeBound) -> DataFrame:
    """
    Return the pairs of rows with the same `key` within the time bound, as columns `key`, `left` and `right`.

    Both streams have the columns `key`, `at` (a timestamp) and `row` (any type that can be compared). Equal rows count
    once. Rows without a key or a time have no partner and are dropped.
    """
    sides = [_side(stream, number, bound) for number, stream in enumerate((left, right))]
    rows = sides[0].unionByName(sides[1], allowMissingColumns=True)
    # `collect_set` ignores null, so each of the two sets contains the rows of one stream.
    state = rows.groupBy("key", "bucket").agg(*(F.collect_set(side).alias(side) for side in SIDES))
    pairs = state.select("key", F.explode("left").alias("left"), "right")
    pairs = pairs.select("key", "left", F.explode("right").alias("right"))
    since_left = F.unix_micros("right.at") - F.unix_micros("left.at")
    return pairs.where(since_left.between(-bound.before_seconds * MICROS, bound.within_seconds * MICROS))


def _side(stream: DataFrame, number: int, bound: TimeBound) -> DataFrame:
    """Add the bucket of the earliest partner of each left row, and both possible buckets of each right row."""
    length, at = bound.length_seconds * MICROS, F.unix_micros("at")
    times = F.array(at, at - length) if number else F.array(at - bound.before_seconds * MICROS)
    starts = F.array_distinct(F.transform(times, lambda time: time - F.pmod(time, F.lit(length))))
    row = F.struct("at", "row").alias(SIDES[number])
    rows = stream.where("key IS NOT NULL AND at IS NOT NULL").select("key", F.explode(starts).alias("start"), row)
    rows = rows.select("key", F.timestamp_micros("start").alias("bucket"), SIDES[number])
    return rows.withWatermark("bucket", bound.watermark)
