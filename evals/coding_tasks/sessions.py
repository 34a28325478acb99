"""After the last click, the number of a user's sessions per day is correct, in whatever order the clicks arrived."""

import json
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F

from evals.stage import Answer, newest, outputs, require, require_same, wrong
from spark_rtm.prove.engine import Bench

# Minutes since midnight, in the order of arrival. Sessions end after 30 minutes without a click.
CLICKS = {
    "sorted": [600, 620, 650, 700],
    "late bridge": [600, 650, 720, 625],
    "reversed": [900, 800, 780, 60],
    "repeated": [600, 600, 630, 661],
}
EXPECTED = {"sorted": 2, "late bridge": 2, "reversed": 3, "repeated": 2}
DAY = datetime(2026, 1, 5, tzinfo=UTC)


def verify(bench: Bench, answer: Answer) -> None:
    """Send the clicks of all users, and compare the newest record of each key."""
    start_ms = int(DAY.timestamp()) * 1000
    clicks = [
        {"user": user, "at": start_ms + minute * 60_000} for user, minutes in CLICKS.items() for minute in minutes
    ]
    found = newest(outputs(bench, answer, [json.dumps(click) for click in clicks], partitions=1))
    require_same({f"{user} 2026-01-05" for user in CLICKS}, found, "keys")
    for user, sessions in EXPECTED.items():
        result = found[f"{user} 2026-01-05"].get("sessions")
        require(result == sessions, f"the user {user!r} has {result!r} sessions instead of {sessions}")


GAP_MS = 30 * 60_000


def clicks(records: DataFrame) -> DataFrame:
    """Return the columns `user`, `ms` and `at`."""
    click = F.from_json(F.col("value").cast("string"), "user string, at long").alias("click")
    rows = records.select(click).select("click.user", F.col("click.at").alias("ms"))
    return rows.withColumn("at", F.timestamp_millis("ms")).withWatermark("at", "1 hour")


def by_day(records: DataFrame) -> GroupedData:
    """Group the clicks by user and UTC day."""
    return clicks(records).groupBy("user", F.window("at", "1 day").alias("day"))


def rows(sessions: DataFrame) -> DataFrame:
    """Return Kafka sink rows."""
    key = F.concat_ws(" ", "user", F.date_format("day.start", "yyyy-MM-dd")).alias("key")
    return sessions.select(key, F.to_json(F.struct("sessions")).alias("value"))


def number_of_sessions(times: Column) -> Column:
    """Return one plus the number of gaps above `GAP_MS` between neighbouring times in an array."""
    pairs = F.arrays_zip(times.alias("a"), F.slice(times, 2, F.greatest(F.size(times), F.lit(1))).alias("b"))
    gaps = F.filter(pairs, lambda pair: pair["b"] - pair["a"] > GAP_MS)
    return F.size(gaps) + 1


def right(records: DataFrame) -> DataFrame:
    """Collect and sort the times of a user's clicks on a day, and count the gaps."""
    state = by_day(records).agg(F.collect_set("ms").alias("times"))
    return rows(state.withColumn("sessions", number_of_sessions(F.array_sort("times"))))


@wrong(r"STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION")
def session_window(records: DataFrame) -> DataFrame:
    """Use a session window, which does not support real-time mode's output mode."""
    windows = clicks(records).groupBy("user", F.session_window("at", "30 minutes").alias("day")).count()
    return rows(windows.withColumn("sessions", F.lit(1)))


@wrong(r"the user 'late bridge' has \S+ sessions instead of 2")
def arrival_order(records: DataFrame) -> DataFrame:
    """Count the gaps in the order of arrival."""
    state = by_day(records).agg(F.collect_list("ms").alias("times"))
    return rows(state.withColumn("sessions", number_of_sessions(F.col("times"))))
