"""
Run a second copy of the decoding query, in micro-batch mode, alongside the pipeline in real-time mode.

The copy and the original read the same records at the same time. The other queries are not copied, because two cores
are not enough.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from pyspark.sql import SparkSession

from examples.attribution.audit.latency import Latency, medians_by_second, order_statistics
from examples.attribution.kafka_to_events import kafka_to_events
from examples.attribution.pipeline import SOURCE_OPTIONS
from examples.attribution.settings import Settings
from examples.attribution.topics import EVENTS_TOPIC, SOURCE_TOPICS
from spark_rtm.kafka.consumer import consumer_from_start, is_record, json_object
from spark_rtm.kafka.topics import REJECT_TOPIC, ensure_topics
from spark_rtm.realtime.queries import KAFKA_SINK, raise_if_failed
from spark_rtm.realtime.slots import preflight
from spark_rtm.services import new_folder

HOP = "kafka_to_events"
"""The query that runs in both execution modes."""
TRIGGER = "1 second"
"""Trigger interval of the second copy. Without a pause between batches, it would take CPU time from the pipeline."""
MAX_MESSAGES = 2_000


def slots_beside(settings: Settings) -> int:
    """Return the number of task slots that the second copy needs in addition to the slots of the pipeline."""
    return len(SOURCE_TOPICS) * settings.partitions


@dataclass
class Beside:
    """The latencies of the second copy, which runs in micro-batch mode, and a function that reads new latencies."""

    poll: Callable[[], None]
    """Reads new latencies, and raises QueryFailedError if the query has failed."""
    latencies_ms: list[tuple[int, int]]
    """Append time (UTC ms) of each source record, and the time (ms) until the event was appended."""

    def medians_by_second(self, started_at: float, newest: int) -> dict[int, int]:
        """Return the median latency (ms) of the `newest` records, per second since `started_at`."""
        latencies_ms = islice(reversed(self.latencies_ms), newest)
        return medians_by_second((at / 1000 - started_at, latency_ms) for at, latency_ms in latencies_ms)

    def latency(self, since: float) -> Latency | None:
        """Return the latencies of records appended at `since` (UTC ms) or later, or None if there are none."""
        values = [latency_ms for appended_at, latency_ms in self.latencies_ms if appended_at >= since]
        return order_statistics(HOP, values) if values else None


@contextmanager
def micro_batch_beside(settings: Settings, spark: SparkSession, bootstrap_servers: str) -> Iterator[Beside]:
    """Run the query in micro-batch mode until the block ends, and yield the query's latencies."""
    topic = f"{settings.topic(EVENTS_TOPIC)}-micro-batch"
    partitions = ensure_topics(bootstrap_servers, [topic], settings.partitions, {topic: REJECT_TOPIC})
    servers = {"kafka.bootstrap.servers": bootstrap_servers}
    source = spark.readStream.format("kafka").options(**SOURCE_OPTIONS, **servers)
    rows = source.option("subscribe", ",".join(map(settings.topic, SOURCE_TOPICS))).load()
    events = kafka_to_events(rows, settings).drop("topic")
    name = f"{HOP}_micro_batch"
    preflight(spark, {name: (events, slots_beside(settings))})
    writer = events.writeStream.format("kafka").options(**KAFKA_SINK, **servers).option("topic", topic)
    writer = writer.option("checkpointLocation", f"{new_folder('checkpoints')}/{name}").queryName(name)
    writer = writer.trigger(processingTime=TRIGGER)
    query, consumer = writer.start(), consumer_from_start(bootstrap_servers, partitions)
    latencies_ms = list[tuple[int, int]]()

    def poll() -> None:
        raise_if_failed([query])
        for message in filter(is_record, consumer.consume(MAX_MESSAGES, 0)):
            # Rejected records are in the same topic, and have no such number.
            if row := json_object(message.value(), {"appended_at": int}):
                latencies_ms.append((row["appended_at"], message.timestamp()[1] - row["appended_at"]))

    try:
        yield Beside(poll, latencies_ms)
    finally:
        query.stop()
        consumer.close()
