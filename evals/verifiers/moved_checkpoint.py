"""A real-time query continues where a micro-batch query with a default checkpoint stopped."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import SparkSession

from evals.stage import DEADLINE_SECONDS, Answer, delete_topics, require_same, session, wait_until_read
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services.files.run_folder import new_folder
from spark_rtm.testing.trial import read_stream

BEFORE, AFTER = 4, 3
PARTITIONS = 2


def verify(bench: Bench, answer: Answer) -> None:
    """Copy some records in micro-batch mode, let the answer continue, and look for lost and repeated records."""
    folder = new_folder("eval")
    with _topics(bench.kafka) as (source, target):
        _produce(bench.kafka, source, range(BEFORE))
        _copy_in_micro_batches(session(bench), bench.kafka, source, target, folder / "old")
        _produce(bench.kafka, source, range(BEFORE, BEFORE + AFTER))
        spark = session(bench)
        try:
            old, new = str(folder / "old"), str(folder / "new")
            query = answer(spark, bench.kafka, source, target, old, new, "1 second")
            wait_until_read(query, BEFORE + AFTER)
        finally:
            for active in spark.streams.active:
                active.stop()
        values = [message.value() for message in read_topic(bench.kafka, target, deadline_seconds=DEADLINE_SECONDS)]
    require_same([b"%d" % number for number in range(BEFORE + AFTER)], values, "records")


@contextmanager
def _topics(kafka: str) -> Iterator[tuple[str, str]]:
    name = f"eval-{uuid.uuid4().hex[:8]}"
    source, target = f"{name}-source", f"{name}-target"
    ensure_topics(kafka, [source, target], PARTITIONS)
    try:
        yield source, target
    finally:
        delete_topics(kafka, source, target)


def _produce(kafka: str, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})
    for number in numbers:
        producer.produce(topic, b"%d" % number, b"k", number % PARTITIONS)
    producer.flush(DEADLINE_SECONDS)
    producer.close()


def _copy_in_micro_batches(spark: SparkSession, kafka: str, source: str, target: str, checkpoint: Path) -> None:
    # Spark 4.3.0's default. The shared context has format 2.
    spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "1")
    rows = read_stream(spark, kafka, source).select("key", "value")
    writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka).option("topic", target)
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    wait_until(lambda: not query.isActive, DEADLINE_SECONDS, "the micro-batch query", [query])
