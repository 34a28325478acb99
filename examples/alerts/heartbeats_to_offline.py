"""
Raise an alarm within 100 ms after a device has been silent for a second, and clear the alarm when the device returns.

Real-time mode of OSS 4.3.0 supports timers only in Scala, so the rule is in `heartbeats_to_offline.scala`. A due timer
fires only when the next row of its state partition arrives, so a thread writes ticks that provide such a row every
20 ms.
"""

from contextlib import AbstractContextManager
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from examples.alerts.decoding import decode, group_of, route
from examples.alerts.job import Job, Options
from spark_rtm.kafka.ticks import ticking
from spark_rtm.realtime.python_state import with_ticks
from spark_rtm.services.scala import scala_object

HEARTBEATS = StructType().add("device_id", "string", nullable=False).add("beat_ts", "long", nullable=False)
"""
One heartbeat. `beat_ts` is the device's time in UTC milliseconds. It increases with each heartbeat.

The rule uses `beat_ts` only to distinguish new heartbeats from repeats. Silence is measured from the append time
of the last heartbeat, because a device's clock can be wrong.
"""

OFFLINE = (
    StructType()
    .add("alarm_id", "string", nullable=False)
    .add("device_id", "string", nullable=False)
    .add("status", "string", nullable=False)
    .add("last_seen_ts", "long", nullable=False)
    .add("deadline_ts", "long", nullable=False)
    .add("emitted_ts", "long", nullable=False)
)
"""
One status change: `offline` raises an alarm, `online` clears it, and `forgotten` closes an alarm that was not cleared.

All changes of one alarm, including duplicates after a restart, have the same `alarm_id`. `emitted_ts` is the processing
time of the change.
"""

SILENCE_MS = 1_000
"""
Time without a heartbeat after which a device is offline.

A heartbeat that is already older than this when the broker appends it is rejected as `late`.
"""
SKEW_MS = 1_000
"""
Maximum time by which `beat_ts` can exceed the append time. Other heartbeats are rejected as `future`.

If the job accepted such a heartbeat, later heartbeats of the device with a correct time would look like repeats.
"""
READING_MS = 20
"""Tolerated delay between the broker and the processor. A longer delay counts as silence."""
FORGET_MS = 24 * 3_600_000
"""Time without a heartbeat after which the job removes a device's state."""

TICKS_TOPIC = "heartbeats-ticks"
SCALA = Path(__file__).with_suffix(".scala")


def heartbeats_to_offline(heartbeats: DataFrame, ticks: DataFrame, forget_ms: int = FORGET_MS) -> DataFrame:
    """Convert Kafka source rows of heartbeats and ticks to Kafka sink rows of status changes and rejects."""
    appended, beat = F.unix_millis("timestamp"), F.col("record.beat_ts")
    checks = {
        "late": beat < appended - SILENCE_MS,
        "future": beat > appended + SKEW_MS,
    }
    arrivals = decode(heartbeats, HEARTBEATS, checks, ids=["device_id"]).select(
        # A rejected row does not use state, so its key can have any value.
        group_of(F.col("record.device_id")).alias("device"),
        F.when(F.col("reason").isNull(), beat).alias("beat_ts"),
        appended.alias("appended_ts"),
        *("key", "value", "src", "reason"),
    )
    rows = with_ticks(arrivals, ["device"], ticks).withColumn("appended_ts", F.coalesce("appended_ts", F.lit(0)))
    spark = heartbeats.sparkSession
    processor = scala_object(spark, SCALA, "alerts.HeartbeatsToOffline")
    changed = DataFrame(processor.of(rows._jdf, SILENCE_MS, READING_MS, forget_ms), spark)  # noqa: SLF001 - for Scala
    return route(
        changed,
        "heartbeats-rejected",
        key=F.col("change.device_id"),
        value=F.to_json("change"),
        topic=F.lit("heartbeats-offline"),
    )


def ticks_for(options: Options) -> AbstractContextManager[None]:
    """Write ticks until the block ends."""
    return ticking(options.bootstrap_servers, options.topic_prefix + TICKS_TOPIC)


JOB = Job(
    heartbeats_to_offline,
    "Raise an alarm when a device is silent for a second: heartbeats -> heartbeats-offline.",
    reads=("heartbeats", TICKS_TOPIC),
    streams=2,
    writes=("heartbeats-offline", "heartbeats-rejected"),
    companion=ticks_for,
)
