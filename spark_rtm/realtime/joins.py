"""
Join two streams with a union and an aggregation, because OSS real-time mode does not support stream-stream joins.

The state for a key and a time bucket contains the rows of both streams. After each row, the query rewrites all pairs in
the row's bucket, so the sink must upsert pairs by their ids. Real-time mode and micro-batch mode write the same pairs
for rows in any order.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SIDES = ("left", "right")
MICROS = 1_000_000


@dataclass(frozen=True)
class TimeBound:
    """The maximum time between the two rows of a pair, and the maximum lateness of a row."""

    within_seconds: int
    """A pair needs `left.at - before_seconds <= right.at <= left.at + within_seconds`."""
    lateness_seconds: int
    """Maximum age of a row, relative to the slower stream's newest row, at which the row still finds its partner."""
    before_seconds: int = 0
    """Maximum time by which the right row may precede the left row (`within_seconds` in a symmetric bound)."""

    def __post_init__(self) -> None:
        """Raise an error for a bound without buckets, or a bound that would drop rows that arrive in time."""
        if self.within_seconds < 1 or self.lateness_seconds < 0 or self.before_seconds < 0:
            raise ValueError(f"{self}: within_seconds must be at least 1, and no other number may be negative")

    @property
    def length_seconds(self) -> int:
        """Return the length of a bucket, which equals the length of the time bound."""
        return self.before_seconds + self.within_seconds

    @property
    def watermark(self) -> str:
        """Return the delay after which a bucket is complete."""
        return f"{2 * self.length_seconds + self.lateness_seconds} seconds"


def inner_join(left: DataFrame, right: DataFrame, bound: TimeBound) -> DataFrame:
    """
    Return the pairs of rows with the same `key` within the time bound, as columns `key`, `left` and `right`.

    Both streams have the columns `key`, `at` (a timestamp) and `row` (any comparable type). Duplicate rows are ignored.
    Rows without a key or a time have no partner and are dropped.
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
    """Add the bucket column: the bucket of a left row's earliest partner, or both possible buckets of a right row."""
    length, at = bound.length_seconds * MICROS, F.unix_micros("at")
    times = F.array(at, at - length) if number else F.array(at - bound.before_seconds * MICROS)
    starts = F.array_distinct(F.transform(times, lambda time: time - F.pmod(time, F.lit(length))))
    row = F.struct("at", "row").alias(SIDES[number])
    rows = stream.where("key IS NOT NULL AND at IS NOT NULL").select("key", F.explode(starts).alias("start"), row)
    rows = rows.select("key", F.timestamp_micros("start").alias("bucket"), SIDES[number])
    return rows.withWatermark("bucket", bound.watermark)
