"""
Pass on the first alarm of a device and code in ten minutes, and hold back its repeats.

Records of `alarms` arrive; firsts leave for `alarms-first`, and what cannot be read or comes too late for
`alarms-rejected`.
Real-time mode demands that the event time is one of the columns that make a duplicate, or its state never ends.
"""

import sys
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from examples.alerts.decoding import decode, route
from examples.alerts.job import Job, Options, read_stream, run
from examples.realtime.decoding import ID_PATTERN

ALARMS = StructType(
    [
        StructField("device_id", StringType(), nullable=False),
        StructField("code", StringType(), nullable=False),
        StructField("raised_ts", LongType(), nullable=False),
        StructField("severity", StringType()),
    ]
)
"""One alarm; `raised_ts` is the device's clock in UTC milliseconds."""

MINUTE_MS = 60_000
REPEAT_MS = 10 * MINUTE_MS
"""Alarms of one device and code within the same stretch of this length are repeats."""
LATENESS_MS = 15 * MINUTE_MS
"""An alarm this much older than its append time is rejected as `late`."""
SKEW_MS = 5 * MINUTE_MS
"""An alarm this much newer than its append time is rejected as `future`."""
CATCH_UP_MS = 60 * MINUTE_MS
"""How far apart the partitions may be read after a stop before the watermark passes what is still unread."""
DELAY_MS = REPEAT_MS + LATENESS_MS + SKEW_MS + CATCH_UP_MS
"""Behind the newest time, so that the watermark never drops a row that the checks have let pass."""


def alarms_to_first(alarms: DataFrame) -> DataFrame:
    """Turn Kafka source rows of alarms into Kafka sink rows: the first of its kind, or what is rejected."""
    appended, raised = F.unix_millis("timestamp"), F.col("record.raised_ts")
    checks = {
        **{f"bad_id:{name}": ~F.col(f"record.{name}").rlike(ID_PATTERN) for name in ("device_id", "code")},
        "late": raised < appended - LATENESS_MS,
        "future": raised > appended + SKEW_MS,
    }
    rejected = F.col("reason").isNotNull()
    # A rejected row is nobody's repeat: its position takes the place of device and code.
    what = F.when(rejected, F.col("src")).otherwise(F.concat_ws("|", "record.device_id", "record.code"))
    stretch = F.when(rejected, appended).otherwise(raised - raised % REPEAT_MS)
    firsts = (
        decode(alarms, ALARMS, checks)
        .select(
            "key", "value", "src", "reason", "record", what.alias("what"), F.timestamp_millis(stretch).alias("since")
        )
        .withWatermark("since", f"{DELAY_MS} milliseconds")
        .dropDuplicates(["what", "since"])
    )
    alarm = F.to_json(F.struct(*(F.col(f"record.{name}") for name in ALARMS.names)))
    return route(firsts, "alarms-rejected", key=F.col("record.device_id"), value=alarm, topic=F.lit("alarms-first"))


def build(spark: SparkSession, options: Options) -> DataFrame:
    """Read the topic and keep the firsts."""
    return alarms_to_first(read_stream(spark, options, "alarms"))


JOB = Job(
    name="alarms_to_first",
    summary="Pass on the first alarm of a device and code in ten minutes: alarms -> alarms-first.",
    reads=("alarms",),
    writes=("alarms-first", "alarms-rejected"),
    build=build,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Pass on first alarms until Ctrl-C."""
    return run(JOB, arguments)


if __name__ == "__main__":
    sys.exit(main())
