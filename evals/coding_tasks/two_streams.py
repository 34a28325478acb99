"""A consumer that upserts records gets exactly the pairs whose click is at most two minutes after the impression."""

import json

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evals.stage import Answer, newest, require_same, trial, wrong
from spark_rtm.prove.engine import Bench
from spark_rtm.realtime.joins import TimeBound, inner_join
from spark_rtm.testing.records import Sent

START_MS = 1_700_000_000_000
# User, id, seconds.
IMPRESSIONS = [("u1", "i1", 0), ("u1", "i2", 30), ("u1", "i3", 100), ("u2", "i4", 0), ("u3", "i5", 200)]
CLICKS = [("u1", "c1", 60), ("u1", "c2", 180), ("u2", "c3", 120), ("u2", "c4", 121), ("u3", "c5", 100)]
PAIRS = [
    f"{impression}/{click}"
    for user, impression, shown in IMPRESSIONS
    for clicker, click, clicked in CLICKS
    if user == clicker and 0 <= clicked - shown <= 120
]
INTERVAL_MS = 1_000


def verify(bench: Bench, answer: Answer) -> None:
    """Send the clicks before the impressions, and compare the newest record of each key with the pairs."""
    with trial(bench, answer, "impressions", "clicks") as run:
        query = run.start("query", INTERVAL_MS)
        for topic, events in reversed(list(zip(run.partitions, (IMPRESSIONS, CLICKS), strict=True))):
            run.send([_record(*event) for event in events], topic)
            run.wait_for_commit(query, 30)
        found = newest(run.received())
    require_same(PAIRS, found, "pairs")
    require_same(PAIRS, (f"{pair.get('impression')}/{pair.get('click')}" for pair in found.values()), "values")


def _record(user: str, name: str, seconds: int) -> Sent:
    event = {"user": user, "id": name, "at": START_MS + 1000 * seconds}
    return Sent(json.dumps(event).encode(), user.encode())


BOUND = TimeBound(within_seconds=120, lateness_seconds=600)


def events(records: DataFrame) -> DataFrame:
    """Return the columns `key`, `at` and `row`."""
    event = F.from_json(F.col("value").cast("string"), "user string, id string, at long").alias("row")
    return records.select(event).select(F.col("row.user").alias("key"), F.timestamp_millis("row.at").alias("at"), "row")


def rows(pairs: DataFrame) -> DataFrame:
    """Return Kafka sink rows from the columns `impression` and `click`."""
    pair = F.to_json(F.struct("impression", "click")).alias("value")
    return pairs.select(F.concat_ws("/", "impression", "click").alias("key"), pair)


def right(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Collect both streams per user and time bucket."""
    pairs = inner_join(events(impressions), events(clicks), BOUND)
    return rows(pairs.select(F.col("left.row.id").alias("impression"), F.col("right.row.id").alias("click")))


@wrong(r"surplus pairs")
def without_bound(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Pair each impression of a user with each click, regardless of time."""
    shown, clicked = events(impressions).withColumn("side", F.lit(0)), events(clicks).withColumn("side", F.lit(1))
    of = [F.collect_set(F.when(F.col("side") == side, F.col("row.id"))).alias(f"of{side}") for side in (0, 1)]
    users = shown.union(clicked).groupBy("key").agg(*of)
    pairs = users.select("of1", F.explode("of0").alias("impression"))
    return rows(pairs.select("impression", F.explode("of1").alias("click")))


@wrong(r"missing pairs")
def last_impression(impressions: DataFrame, clicks: DataFrame) -> DataFrame:
    """Keep only the newest impression and the newest click of a user."""
    shown, clicked = events(impressions).withColumn("side", F.lit(0)), events(clicks).withColumn("side", F.lit(1))
    last = [F.max_by(F.when(F.col("side") == s, F.col("row")), F.when(F.col("side") == s, F.col("at"))) for s in (0, 1)]
    users = shown.union(clicked).groupBy("key").agg(last[0].alias("shown"), last[1].alias("clicked"))
    pairs = users.where((F.col("clicked.at") - F.col("shown.at")).between(0, 120_000))
    return rows(pairs.select(F.col("shown.id").alias("impression"), F.col("clicked.id").alias("click")))
