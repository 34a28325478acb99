"""Answers to the task `moved_checkpoint`."""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime.positions import committed_position


def start(
    spark: SparkSession, servers: str, topics: tuple[str, str], checkpoint: str, interval: str, offsets: str | None
) -> StreamingQuery:
    """Start the copy in real-time mode. `offsets` is the option `startingOffsets`."""
    kafka, (source, target) = {"kafka.bootstrap.servers": servers}, topics
    options = {**kafka, "subscribe": source, **({"startingOffsets": offsets} if offsets else {})}
    rows = spark.readStream.format("kafka").options(**options).load().select("key", "value")
    writer = rows.writeStream.format("kafka").options(**kafka).option("topic", target).outputMode("update")
    query: StreamingQuery = writer.option("checkpointLocation", checkpoint).trigger(realTime=interval).start()  # type: ignore[call-overload]
    return query


def right(
    spark: SparkSession, servers: str, source: str, target: str, old: str, new: str, interval: str
) -> StreamingQuery:
    """Start a new checkpoint at the last committed offsets of the old one."""
    position = committed_position(Path(old))
    partitions = {topic: len(offsets) for topic, offsets in position.sources[0].items()}
    return start(spark, servers, (source, target), new, interval, position.starting_offsets(partitions))


def same_checkpoint(
    spark: SparkSession, servers: str, source: str, target: str, old: str, _new: str, interval: str
) -> StreamingQuery:
    """Change only the trigger, although real-time mode refuses the checkpoint's format."""
    return start(spark, servers, (source, target), old, interval, None)


def latest(
    spark: SparkSession, servers: str, source: str, target: str, _old: str, new: str, interval: str
) -> StreamingQuery:
    """Start a new checkpoint without a position, so at the end of the topic."""
    return start(spark, servers, (source, target), new, interval, None)


def earliest(
    spark: SparkSession, servers: str, source: str, target: str, _old: str, new: str, interval: str
) -> StreamingQuery:
    """Start a new checkpoint at the beginning of the topic."""
    return start(spark, servers, (source, target), new, interval, "earliest")


REFERENCE = right
WRONG = {
    same_checkpoint: r"CHECKPOINT_FORMAT_V1_NOT_SUPPORTED",
    latest: r"3 records missing",
    earliest: r"4 records too many",
}
