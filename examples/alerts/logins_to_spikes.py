"""
Raise one alert when an account has ten failed logins within a minute.

In real-time mode, an aggregation emits a row after each failed login, so exactly one row has the count 10. In
micro-batch mode, one batch can increase the count from 9 to 11. Micro-batch mode therefore needs the condition `>=`,
and a sink that drops repeats.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from examples.alerts.alarms_to_first import CATCH_UP_MS, LATENESS_MS, MINUTE_MS, SKEW_MS
from examples.alerts.decoding import decode, group_of, route
from examples.alerts.job import Job

LOGINS = (
    StructType()
    .add("account", "string", nullable=False)
    .add("outcome", "string", nullable=False)
    .add("login_ts", "long", nullable=False)
)
"""One login. `outcome` is `ok` or `failed`. `login_ts` is the server's time in UTC milliseconds."""

MAX_FAILURES = 10
"""Number of failed logins that raises the alert, for one account within a clock minute."""
DELAY_MS = MINUTE_MS + LATENESS_MS + SKEW_MS + CATCH_UP_MS
"""Watermark delay, long enough to keep every row that passed the checks. Spark removes older counts."""


def logins_to_spikes(logins: DataFrame) -> DataFrame:
    """Convert Kafka source rows of logins to Kafka sink rows of alerts and rejected records."""
    appended, at = F.unix_millis("timestamp"), F.col("record.login_ts")
    checks = {
        "bad_outcome": ~F.col("record.outcome").isin("ok", "failed"),
        "late": at < appended - LATENESS_MS,
        "future": at > appended + SKEW_MS,
    }
    rejected = F.col("reason").isNotNull()
    minute = F.when(rejected, appended).otherwise(at - at % MINUTE_MS)
    counted = (
        decode(logins, LOGINS, checks, ids=["account"])
        .where(rejected | (F.col("record.outcome") == "failed"))
        .withColumn("who", group_of(F.col("record.account")))
        .withColumn("minute", F.timestamp_millis(minute))
        .withWatermark("minute", f"{DELAY_MS} milliseconds")
        .groupBy("who", "minute")
        .agg(
            F.count("*").alias("failures"),
            F.max("src").alias("src"),
            F.collect_list(F.when(rejected, F.struct("key", "value", "reason"))).alias("bad"),
        )
        .withColumn("bad", F.get("bad", F.lit(0)))
        .where(F.col("bad").isNotNull() | (F.col("failures") == MAX_FAILURES))
        .select("who", F.unix_millis("minute").alias("minute_ts"), "failures", "src", "bad.*")
    )
    spike = F.to_json(F.struct(F.col("who").alias("account"), "minute_ts", "failures"))
    return route(
        counted,
        "logins-rejected",
        key=F.concat_ws("/", "who", "minute_ts"),
        value=spike,
        topic=F.lit("logins-spikes"),
    )


JOB = Job(
    logins_to_spikes,
    "Raise an alert when an account has ten failed logins within a minute: logins -> logins-spikes.",
    reads=("logins",),
    writes=("logins-spikes", "logins-rejected"),
)
