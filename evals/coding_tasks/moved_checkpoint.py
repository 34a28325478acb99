"""A real-time query continues where a micro-batch query with a default checkpoint stopped."""

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from evals.stage import DEADLINE_SECONDS, Answer, new_topics, produce, require_same, session, wait_until_read, wrong
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.prove.engine import Bench
from spark_rtm.realtime.positions import committed_position
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services.folders import new_folder
from spark_rtm.testing.records import Sent
from spark_rtm.testing.trial import read_stream

RECORDS = [Sent(b"%d" % number, b"k") for number in range(7)]
BEFORE = 4
"""Number of records that the micro-batch query copies."""
PARTITIONS = 2


def verify(bench: Bench, answer: Answer) -> None:
    """Copy some records in micro-batch mode, let the answer continue, and look for lost and repeated records."""
    folder = new_folder("eval")
    source, target = new_topics(bench.kafka, 2, PARTITIONS)
    produce(bench.kafka, source, RECORDS[:BEFORE], PARTITIONS)
    _copy_in_micro_batches(session(bench), bench.kafka, source, target, folder / "old")
    produce(bench.kafka, source, RECORDS[BEFORE:], PARTITIONS)
    spark = session(bench)
    try:
        old, new = str(folder / "old"), str(folder / "new")
        query = answer(spark, bench.kafka, source, target, old, new, "1 second")
        wait_until_read(query, len(RECORDS))
    finally:
        for active in spark.streams.active:
            active.stop()
    values = [message.value() for message in read_topic(bench.kafka, target, deadline_seconds=DEADLINE_SECONDS)]
    require_same([record.value for record in RECORDS], values, "records")


def _copy_in_micro_batches(spark: SparkSession, kafka: str, source: str, target: str, checkpoint: Path) -> None:
    # Spark 4.3.0's default. The shared context has format 2.
    spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "1")
    rows = read_stream(spark, kafka, source).select("key", "value")
    writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", target)
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    wait_until(lambda: not query.isActive, DEADLINE_SECONDS, "the micro-batch query", [query])


def start(
    spark: SparkSession, servers: str, topics: tuple[str, str], checkpoint: str, interval: str, offsets: str | None
) -> StreamingQuery:
    """Start the copy in real-time mode. `offsets` is the `startingOffsets` option."""
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


@wrong(r"CHECKPOINT_FORMAT_V1_NOT_SUPPORTED")
def same_checkpoint(
    spark: SparkSession, servers: str, source: str, target: str, old: str, _new: str, interval: str
) -> StreamingQuery:
    """Change only the trigger, although real-time mode rejects the checkpoint's format."""
    return start(spark, servers, (source, target), old, interval, None)


@wrong(r"3 missing records")
def latest(
    spark: SparkSession, servers: str, source: str, target: str, _old: str, new: str, interval: str
) -> StreamingQuery:
    """Start a new checkpoint without starting offsets, so that the query begins at the end of the topic."""
    return start(spark, servers, (source, target), new, interval, None)
