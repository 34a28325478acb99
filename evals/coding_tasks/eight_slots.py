"""A query with two stateful steps runs on eight task slots, although the session has 200 shuffle partitions."""

import json

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evals.stage import Answer, newest, outputs, require, session, wrong
from spark_rtm.prove.engine import Bench
from spark_rtm.realtime.slots import slots_needed

SLOTS, PARTITIONS = 8, 4
CLICKS = [("u1", "a"), ("u1", "b"), ("u1", "a"), ("u2", "a"), ("u2", "c"), ("u2", "c"), ("u3", "d")]
EXPECTED = {"u1": 2, "u2": 2, "u3": 1}
AT_MS = 1_700_000_000_000


def verify(bench: Bench, answer: Answer) -> None:
    """Count the task slots in the plan, then run the query and compare the counts."""

    def counted(records: DataFrame) -> DataFrame:
        rows: DataFrame = answer(records)
        needed = slots_needed(rows, PARTITIONS)
        require(needed <= SLOTS, f"the query needs {needed} task slots, but the cluster has {SLOTS}")
        return rows

    spark = session(bench, shuffle_partitions=200)
    clicks = [json.dumps({"user": user, "id": f"{user}{name}", "at": AT_MS}) for user, name in CLICKS]
    found = newest(outputs(bench, counted, clicks, partitions=PARTITIONS, spark=spark))
    counts = {user: result.get("clicks") for user, result in found.items()}
    require(counts == EXPECTED, f"the counts are {counts} instead of {EXPECTED}")


def counts(records: DataFrame) -> DataFrame:
    """Remove repeated clicks, and count the clicks of each user. Each step has its own shuffle."""
    click = F.from_json(F.col("value").cast("string"), "user string, id string, at long").alias("click")
    rows = records.select(click).select("click.user", "click.id", F.timestamp_millis("click.at").alias("at"))
    once = rows.withWatermark("at", "1 hour").dropDuplicates(["id", "at"])
    totals = once.groupBy("user").agg(F.count("*").alias("clicks"))
    return totals.select(F.col("user").alias("key"), F.to_json(F.struct("clicks")).alias("value"))


def with_partitions(records: DataFrame, number: int) -> DataFrame:
    """Set the number of shuffle partitions, which equals the number of task slots per step."""
    records.sparkSession.conf.set("spark.sql.shuffle.partitions", number)
    return counts(records)


def right(records: DataFrame) -> DataFrame:
    """Use 4 slots for the source and 2 for each step."""
    return with_partitions(records, 2)


@wrong(r"needs 404 task slots, but the cluster has 8")
def default(records: DataFrame) -> DataFrame:
    """Keep the session's number of shuffle partitions."""
    return counts(records)


@wrong(r"needs 12 task slots, but the cluster has 8")
def one_step(records: DataFrame) -> DataFrame:
    """Count the shuffle partitions only once for both steps (4 + 4 slots), although each step needs 4 slots."""
    return with_partitions(records, 4)
