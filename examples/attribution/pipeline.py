"""
The queries of the pipeline: which topics each reads and writes, and how it starts.

Trigger, output mode and checkpoint of every query are set in `start_queries`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from examples.attribution.attributed_to_pacing import attributed_to_pacing
from examples.attribution.credit.models import CreditRules
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.events_to_timeouts import events_to_timeouts
from examples.attribution.kafka_to_events import kafka_to_events
from examples.attribution.settings import Settings
from examples.attribution.topics import (
    ATTRIBUTED_TOPIC,
    CREDITS_TOPIC,
    ERASURES_TOPIC,
    EVENTS_TOPIC,
    PACING_TOPIC,
    SOURCE_TOPICS,
)
from examples.attribution.touches_to_credit import touches_to_credit
from examples.realtime.queries import KAFKA_SINK, wait_until
from examples.realtime.slots import preflight, slots_needed

SOURCE = {"startingOffsets": "earliest", "includeHeaders": "true"}
RULES = CreditRules()
"""The credit rules of the demonstration, before the time scale."""
START_SECONDS = 120
# The first Python worker of a query must connect within ten seconds, which cannot be configured (OSS 4.3.0).
SLOW_PYTHON = "Python worker failed to connect back"
MAX_PYTHON_STARTS = 3


@dataclass(frozen=True)
class Hop:
    """One query from `sources` to `target`; without a target its rows name their topics."""

    name: str
    sources: tuple[str, ...]
    target: str | None
    transform: Callable[[DataFrame], DataFrame]
    micro_batch_seconds: float | None = None
    """Interval of a query that runs in micro-batch always, because real-time mode refuses its Python."""


def hops(settings: Settings) -> list[Hop]:
    """Return the five queries in the order of the flow."""
    timeouts_seconds, credits_seconds = settings.timeouts_interval_seconds, settings.credits_interval_seconds
    return [
        Hop("kafka_to_events", SOURCE_TOPICS, None, lambda rows: kafka_to_events(rows, settings)),
        Hop(
            "events_to_attributed", (EVENTS_TOPIC,), ATTRIBUTED_TOPIC, lambda rows: events_to_attributed(rows, settings)
        ),
        Hop(
            "attributed_to_pacing", (ATTRIBUTED_TOPIC,), PACING_TOPIC, lambda rows: attributed_to_pacing(rows, settings)
        ),
        Hop(
            "events_to_timeouts",
            (EVENTS_TOPIC,),
            ATTRIBUTED_TOPIC,
            lambda rows: events_to_timeouts(rows, settings),
            timeouts_seconds,
        ),
        Hop(
            "touches_to_credit",
            (ATTRIBUTED_TOPIC, EVENTS_TOPIC, ERASURES_TOPIC),
            CREDITS_TOPIC,
            lambda rows: touches_to_credit(rows, settings, RULES),
            credits_seconds,
        ),
    ]


def start_queries(
    settings: Settings, spark: SparkSession, bootstrap_servers: str, partitions: dict[str, int], checkpoints: str
) -> list[StreamingQuery]:
    """Start all queries after a check of their slots."""

    def read(topics: Iterable[str]) -> DataFrame:
        source = spark.readStream.format("kafka").options(**SOURCE).option("kafka.bootstrap.servers", bootstrap_servers)
        return source.option("subscribe", ",".join(settings.topic(topic) for topic in topics)).load()

    streams = {hop: hop.transform(read(hop.sources)) for hop in hops(settings)}
    preflight(spark, {h.name: (rows, tasks_of_source(h, rows, partitions, settings)) for h, rows in streams.items()})
    queries: dict[Hop, StreamingQuery] = {}
    try:
        # Those with Python first and one after the other, while the machine has nothing else to do.
        for hop in sorted(streams, key=lambda hop: hop.micro_batch_seconds is None):
            writer = streams[hop].writeStream.format("kafka").options(**KAFKA_SINK)
            writer = writer.option("kafka.bootstrap.servers", bootstrap_servers)
            if hop.target:
                writer = writer.option("topic", settings.topic(hop.target))
            writer = writer.queryName(hop.name).outputMode("update")
            writer = writer.option("checkpointLocation", f"{checkpoints}/{hop.name}")
            if is_real_time(hop, settings):
                # The keyword is missing in the type hints of PySpark 4.3.0.
                writer = writer.trigger(realTime=f"{settings.interval_seconds} seconds")  # type: ignore[call-overload]
            else:
                writer = writer.trigger(processingTime=f"{round(1000 * (hop.micro_batch_seconds or 0))} milliseconds")
            queries[hop] = writer.start() if hop.micro_batch_seconds is None else _start_python(writer)
    except BaseException:
        for query in queries.values():
            query.stop()
        raise
    return [queries[hop] for hop in streams]


def _start_python(writer: DataStreamWriter, attempts: int = MAX_PYTHON_STARTS) -> StreamingQuery:
    query = writer.start()
    try:
        wait_until(lambda: query.lastProgress, START_SECONDS, f"the first batch of {query.name!r}", [query])
    except BaseException as error:
        query.stop()
        if attempts > 1 and SLOW_PYTHON in str(error):
            return _start_python(writer, attempts - 1)
        raise
    return query


def is_real_time(hop: Hop, settings: Settings) -> bool:
    """Return whether the query runs in real-time mode with these settings."""
    return settings.trigger == "real-time" and hop.micro_batch_seconds is None


def tasks_of_source(hop: Hop, stream: DataFrame, partitions: Mapping[str, int], settings: Settings) -> int:
    """Return what `preflight` has to add to the shuffles of a query for its source; partitions are those by topic."""
    source = sum(partitions[topic] for topic in hop.sources)
    if is_real_time(hop, settings):
        return source
    # The stages of a micro-batch run one after the other, so that the widest of them decides.
    return max(source - slots_needed(stream, 0), 0)
