"""Answers to the task `newest_holder`."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def paid(records: DataFrame) -> DataFrame:
    """Return the columns `card` and `amount_cents`."""
    payment = F.from_json(F.col("value").cast("string"), "card string, amount_cents long").alias("payment")
    return records.select(payment).select("payment.*")


def named(holders: DataFrame, value: str) -> DataFrame:
    """Return the columns `card` and `holder`."""
    holder = F.get_json_object(F.col(value).cast("string"), "$.holder").alias("holder")
    return holders.select(F.col("key").cast("string").alias("card"), holder)


def newest(holders: DataFrame) -> DataFrame:
    """Return the newest record of each card."""
    return named(holders.groupBy("key").agg(F.max_by("value", "offset").alias("last")), "last")


def rows(joined: DataFrame) -> DataFrame:
    """Return Kafka sink rows."""
    return joined.select(
        F.col("card").alias("key"), F.to_json(F.struct("card", "amount_cents", "holder")).alias("value")
    )


def right(records: DataFrame, holders: DataFrame) -> DataFrame:
    """Broadcast one row per card, and keep payments without a holder."""
    return rows(paid(records).join(F.broadcast(newest(holders)), "card", "left"))


def no_broadcast(records: DataFrame, holders: DataFrame) -> DataFrame:
    """Let the planner choose the join, which real-time mode then refuses."""
    return rows(paid(records).join(newest(holders), "card", "left"))


def all_versions(records: DataFrame, holders: DataFrame) -> DataFrame:
    """Join with every version of a card's holder."""
    return rows(paid(records).join(F.broadcast(named(holders, "value")), "card", "left"))


def inner(records: DataFrame, holders: DataFrame) -> DataFrame:
    """Use an inner join, which loses the payments of cards without a holder."""
    return rows(paid(records).join(F.broadcast(newest(holders)), "card"))


REFERENCE = right
WRONG = {
    no_broadcast: r"OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.*SortMergeJoinExec",
    all_versions: r"payments too many",
    inner: r"2 payments missing, such as \('c4', 1, None\)",
}
