"""Answers to the task `pepper`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def users(records: DataFrame) -> DataFrame:
    """Return the columns `key` and `user`."""
    return records.select("key", F.get_json_object(F.col("value").cast("string"), "$.user").alias("user"))


def rows(logins: DataFrame, pepper: Column) -> DataFrame:
    """Return Kafka sink rows from the columns `key` and `user`."""
    return logins.select("key", F.to_json(F.struct(F.sha2(F.concat(pepper, "user"), 256).alias("user"))).alias("value"))


def pepper_of(secrets: DataFrame) -> DataFrame:
    """Return the secret as one row with one column `pepper`."""
    peppers = secrets.where(F.col("key") == F.lit("pepper").cast("binary"))
    return peppers.agg(F.max_by("value", "offset").cast("string").alias("pepper"))


def right(records: DataFrame, secrets: DataFrame) -> DataFrame:
    """Read the secret with a scalar subquery, whose value is not in the plan."""
    return rows(users(records), pepper_of(secrets).scalar())


def literal(records: DataFrame, secrets: DataFrame) -> DataFrame:
    """Collect the secret and put it into the expression."""
    [row] = pepper_of(secrets).collect()
    return rows(users(records), F.lit(row.pepper))


def cross_join(records: DataFrame, secrets: DataFrame) -> DataFrame:
    """Join without an equality, which real-time mode refuses."""
    return rows(users(records).crossJoin(F.broadcast(pepper_of(secrets))), F.col("pepper"))


def no_pepper(records: DataFrame, _secrets: DataFrame) -> DataFrame:
    """Hash the user without the secret."""
    return rows(users(records), F.lit(""))


REFERENCE = right
WRONG = {
    literal: r"the secret is in the plan",
    cross_join: r"OPERATOR_OR_SINK_NOT_IN_ALLOWLIST.*BroadcastNestedLoopJoinExec",
    no_pepper: r"3 hashes missing",
}
