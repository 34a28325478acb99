"""
Raise an alarm within 100 ms when a device has been silent for a second, and clear it when the device is back.

Records of `heartbeats` and ticks arrive; changes of devices leave for `heartbeats-offline`, and what cannot be read or
comes too late for `heartbeats-rejected`.
Real-time mode demands Scala for timers, which is in `heartbeats_to_offline.scala`, and ticks that keep them punctual.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from examples.alerts.decoding import decode, route
from examples.alerts.job import Job, Options, read_stream, run
from examples.alerts.ticks import TICKS_TOPIC, ticking
from examples.realtime.decoding import ID_PATTERN
from examples.services.scala import scala_object

HEARTBEATS = StructType(
    [StructField("device_id", StringType(), nullable=False), StructField("beat_ts", LongType(), nullable=False)]
)
"""
One heart-beat; `beat_ts` is the device's clock in UTC milliseconds, a later one in each new heart-beat.

It only tells news from repeats: silence begins at the append time, because clocks of devices are wrong.
"""

OFFLINE = StructType(
    [
        StructField("alarm_id", StringType(), nullable=False),
        StructField("device_id", StringType(), nullable=False),
        StructField("status", StringType(), nullable=False),
        StructField("last_seen_ts", LongType(), nullable=False),
        StructField("deadline_ts", LongType(), nullable=False),
        StructField("emitted_ts", LongType(), nullable=False),
    ]
)
"""
One change: `offline` raises an alarm, `online` clears it, and `forgotten` ends one that nothing has cleared.

`alarm_id` is the same for all three, and for repeats after a restart; `emitted_ts` is the clock of the processor.
"""

SILENCE_MS = 1_000
"""A device that is not heard of for longer is offline. A heart-beat that is older at its append time is `late`."""
SKEW_MS = 1_000
"""A heart-beat this much newer than its append time is `future`; it would make repeats of all that follow."""
READING_MS = 20
"""How long the way from the broker to the processor may take longer than usual before it looks like silence."""
FORGET_MS = 24 * 3_600_000
"""After so long the state of a silent device goes."""

SCALA = Path(__file__).with_suffix(".scala")


def heartbeats_to_offline(heartbeats: DataFrame, ticks: DataFrame, forget_ms: int = FORGET_MS) -> DataFrame:
    """Turn Kafka source rows of heart-beats and of ticks into Kafka sink rows: changes, or what is rejected."""
    appended, beat = F.unix_millis("timestamp"), F.col("record.beat_ts")
    checks = {
        "bad_id:device_id": ~F.col("record.device_id").rlike(ID_PATTERN),
        "late": beat < appended - SILENCE_MS,
        "future": beat > appended + SKEW_MS,
    }
    is_good = F.col("reason").isNull()
    arrivals = decode(heartbeats, HEARTBEATS, checks).select(
        # A rejected row passes through without state, so anything may be its key.
        F.when(is_good, F.col("record.device_id")).otherwise(F.col("src")).alias("device"),
        F.when(is_good, beat).alias("beat_ts"),
        appended.alias("appended_ts"),
        *("key", "value", "src", "reason"),
    )
    spark = heartbeats.sparkSession
    keys = F.array(*map(F.lit, tick_keys(spark, int(str(spark.conf.get("spark.sql.shuffle.partitions"))))))
    woken = ticks.select(F.explode(keys).alias("device"), appended.alias("appended_ts"))
    processor = scala_object(spark, SCALA, "alerts.HeartbeatsToOffline")
    both = arrivals.unionByName(woken, allowMissingColumns=True)
    changed = DataFrame(processor.of(both._jdf, SILENCE_MS, READING_MS, forget_ms), spark)  # noqa: SLF001 - for Scala
    return route(
        changed,
        "heartbeats-rejected",
        key=F.col("change.device_id"),
        value=F.to_json("change"),
        topic=F.lit("heartbeats-offline"),
    )


def tick_keys(spark: SparkSession, partitions: int) -> list[str]:
    """Return one key for each state partition: of many more candidates, the first of each remainder of the hash."""
    candidates = spark.range(20 * partitions).selectExpr("cast(id as string) as key")
    by_partition = candidates.groupBy(F.pmod(F.hash("key"), F.lit(partitions))).agg(F.min("key").alias("key"))
    return [row.key for row in by_partition.collect()]


def build(spark: SparkSession, options: Options) -> DataFrame:
    """Read both topics and watch the devices."""
    return heartbeats_to_offline(read_stream(spark, options, "heartbeats"), read_stream(spark, options, TICKS_TOPIC))


JOB = Job(
    name="heartbeats_to_offline",
    summary="Raise an alarm when a device is silent for a second: heartbeats -> heartbeats-offline.",
    reads=("heartbeats", TICKS_TOPIC),
    streams=2,
    writes=("heartbeats-offline", "heartbeats-rejected"),
    build=build,
    beside=ticking,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Watch devices until Ctrl-C."""
    return run(JOB, arguments)


if __name__ == "__main__":
    sys.exit(main())
