"""
Forward the first alarm of each device and code in a ten-minute window, and drop repeats.

Unreadable and late records go to `alarms-rejected`. The columns of `dropDuplicates` include the event time, because
otherwise the state would never expire.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from examples.alerts.decoding import decode, group_of, route
from examples.alerts.job import Job

ALARMS = (
    StructType()
    .add("device_id", "string", nullable=False)
    .add("code", "string", nullable=False)
    .add("raised_ts", "long", nullable=False)
    .add("severity", "string")
)
"""One alarm. `raised_ts` is the device's time in UTC milliseconds."""

MINUTE_MS = 60_000
REPEAT_MS = 10 * MINUTE_MS
"""Length of a window. After the first alarm of a device and code, all further ones in the window are repeats."""
LATENESS_MS = 15 * MINUTE_MS
"""Maximum delay from `raised_ts` to the append time. Alarms with a longer delay are rejected as `late`."""
SKEW_MS = 5 * MINUTE_MS
"""Maximum time by which `raised_ts` can exceed the append time. Other alarms are rejected as `future`."""
CATCH_UP_MS = 60 * MINUTE_MS
"""Maximum lag of one partition behind another after a stop. Beyond this lag, the watermark can drop unread records."""
DELAY_MS = REPEAT_MS + LATENESS_MS + SKEW_MS + CATCH_UP_MS
"""Watermark delay, long enough to keep every row that passed the checks."""


def alarms_to_first(alarms: DataFrame) -> DataFrame:
    """Convert Kafka source rows of alarms to Kafka sink rows of first alarms and rejected records."""
    appended, raised = F.unix_millis("timestamp"), F.col("record.raised_ts")
    checks = {
        "late": raised < appended - LATENESS_MS,
        "future": raised > appended + SKEW_MS,
    }
    rejected = F.col("reason").isNotNull()
    # A rejected row must never count as a repeat.
    identity = group_of(F.concat_ws("|", "record.device_id", "record.code"))
    window_start = F.when(rejected, appended).otherwise(raised - raised % REPEAT_MS)
    firsts = (
        decode(alarms, ALARMS, checks, ids=("device_id", "code"))
        .select(
            "key",
            "value",
            "src",
            "reason",
            "record",
            identity.alias("what"),
            F.timestamp_millis(window_start).alias("since"),
        )
        .withWatermark("since", f"{DELAY_MS} milliseconds")
        .dropDuplicates(["what", "since"])
    )
    alarm = F.to_json(F.struct(*(F.col(f"record.{name}") for name in ALARMS.names)))
    return route(firsts, "alarms-rejected", key=F.col("record.device_id"), value=alarm, topic=F.lit("alarms-first"))


JOB = Job(
    alarms_to_first,
    "Forward only the first alarm of each device and code within ten minutes: alarms -> alarms-first.",
    reads=("alarms",),
    writes=("alarms-first", "alarms-rejected"),
)
