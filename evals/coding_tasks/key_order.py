"""All records of a key are in one target partition."""

from collections import defaultdict

from confluent_kafka import Message
from pyspark.sql import DataFrame

from evals.stage import (
    DEADLINE_SECONDS,
    Answer,
    new_topics,
    produce,
    require,
    require_same,
    session,
    wait_until_read,
    wrong,
)
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.prove.engine import Bench
from spark_rtm.services.run_folder import new_folder
from spark_rtm.testing.records import Sent
from spark_rtm.testing.trial import SINK, read_stream

PARTITIONS = 4
KEYS = [b"d%d" % number for number in range(6)]
HEADERS = (("unit", b"\x00C"),)


def verify(bench: Bench, answer: Answer) -> None:
    """Send each key to every source partition, and find its target partitions."""
    sent = [(key, b"%s at %d" % (key, place)) for key in KEYS for place in range(PARTITIONS)]
    source, target = new_topics(bench.kafka, 2, PARTITIONS)
    produce(bench.kafka, source, [Sent(value, key, HEADERS) for key, value in sent], PARTITIONS)
    messages = _written(bench, answer, source, target, len(sent))
    require_same(sent, [(message.key(), message.value()) for message in messages], "records")
    require(all(message.headers() == [*HEADERS] for message in messages), "the headers are lost or changed")
    places = defaultdict[bytes, set[int]](set)
    for message in messages:
        places[bytes(message.key() or b"")].add(message.partition() or 0)
    spread = [key for key, found in places.items() if len(found) > 1]
    require(
        not spread, f"{len(spread)} of {len(KEYS)} keys have records in more than one partition of the target topic"
    )


def _written(bench: Bench, answer: Answer, source: str, target: str, count: int) -> list[Message]:
    spark = session(bench)
    rows = answer(read_stream(spark, bench.kafka, source))
    writer = rows.writeStream.format("kafka").options(**SINK).option("kafka.bootstrap.servers", bench.kafka)
    writer = writer.option("topic", target).option("checkpointLocation", str(new_folder("eval"))).queryName("query")
    query = writer.outputMode("update").trigger(realTime="1 second").start()
    try:
        wait_until_read(query, count)
        return read_topic(bench.kafka, target, deadline_seconds=DEADLINE_SECONDS)
    finally:
        query.stop()


def right(records: DataFrame) -> DataFrame:
    """Select the target's columns without `partition`, so the producer chooses the partition by key."""
    return records.select("key", "value", "headers")


@wrong(r"6 of 6 keys have records in more than one partition")
def all_columns(records: DataFrame) -> DataFrame:
    """Keep the source's column `partition`, which also sets the target partition."""
    return records


@wrong(r"the headers are lost")
def no_headers(records: DataFrame) -> DataFrame:
    """Select only key and value."""
    return records.select("key", "value")
