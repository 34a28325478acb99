"""
Define the pipeline's five queries with their topics, and the functions that start the queries.

`query_starters` sets the trigger, the output mode and the checkpoint of every query.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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
    TICKS_TOPIC,
)
from examples.attribution.touches_to_credit import touches_to_credit
from spark_rtm.realtime.control import source_format
from spark_rtm.realtime.exactly_once import to_kafka
from spark_rtm.realtime.failures import SLOW_PYTHON
from spark_rtm.realtime.keeper import Starter
from spark_rtm.realtime.queries import KAFKA_SINK, wait_until
from spark_rtm.realtime.slots import preflight, slots_needed

SOURCE_OPTIONS = {"startingOffsets": "earliest", "includeHeaders": "true"}
RULES = CreditRules()
"""The demonstration's credit rules, before all times are divided by `time_scale`."""
START_TIMEOUT_SECONDS = 120
# On OSS 4.3.0, the first Python worker of a query must connect to Spark within ten seconds. This limit is fixed.
MAX_PYTHON_STARTS = 3


@dataclass(frozen=True)
class PipelineQuery:
    """A query from the topics `sources` to the topic `target`. If `target` is None, each row names its target topic."""

    name: str
    sources: tuple[str, ...]
    target: str | None
    transform: Callable[[DataFrame], DataFrame]
    has_python: bool = False
    """Whether the query has a Python processor. If so, the `python_trigger` setting determines the execution mode."""


def pipeline_queries(settings: Settings, ticks: DataFrame | None = None) -> list[PipelineQuery]:
    """
    Return the five queries in the order of the data flow.

    `ticks` contains the rows of the tick topic, which make due timers fire. Python processors require it in real-time
    mode.
    """
    return [
        PipelineQuery("kafka_to_events", SOURCE_TOPICS, None, lambda rows: kafka_to_events(rows, settings)),
        PipelineQuery(
            "events_to_attributed", (EVENTS_TOPIC,), ATTRIBUTED_TOPIC, lambda rows: events_to_attributed(rows, settings)
        ),
        PipelineQuery(
            "attributed_to_pacing", (ATTRIBUTED_TOPIC,), PACING_TOPIC, lambda rows: attributed_to_pacing(rows, settings)
        ),
        PipelineQuery(
            "events_to_timeouts",
            (EVENTS_TOPIC,),
            ATTRIBUTED_TOPIC,
            lambda rows: events_to_timeouts(rows, settings, ticks),
            has_python=True,
        ),
        PipelineQuery(
            "touches_to_credit",
            (ATTRIBUTED_TOPIC, EVENTS_TOPIC, ERASURES_TOPIC),
            CREDITS_TOPIC,
            lambda rows: touches_to_credit(rows, settings, RULES, ticks),
            has_python=True,
        ),
    ]


def query_starters(
    settings: Settings,
    spark: SparkSession,
    bootstrap_servers: str,
    partitions: dict[str, int],
    checkpoint_dir: str,
    sink_options: Mapping[str, str] = KAFKA_SINK,
    login: Mapping[str, str] | None = None,
) -> dict[str, Starter]:
    """
    Check that the session has enough task slots, and return the functions that start the queries, keyed by name.

    Call the functions in the returned order. The micro-batch queries with Python processors come first. The functions
    of these queries return only after the first batch, so these slow queries start one at a time, before other queries
    load the machine. `login` contains further options of each source and sink, as `password_login` returns them.
    """
    servers = {"kafka.bootstrap.servers": bootstrap_servers, **(login or {})}
    level = {"kafka.isolation.level": "read_committed"} if settings.exactly_once else {}

    def read(*topics: str) -> DataFrame:
        source = spark.readStream.format(source_format()).options(**SOURCE_OPTIONS, **servers, **level)
        return source.option("subscribe", ",".join(settings.topic(topic) for topic in topics)).load()

    ticks = read(TICKS_TOPIC) if settings.python_trigger == "real-time" else None
    streams = {query: query.transform(read(*query.sources)) for query in pipeline_queries(settings, ticks)}
    needs = {q.name: (rows, source_tasks(q, rows, partitions, settings)) for q, rows in streams.items()}
    preflight(spark, needs)
    slow_starting = micro_batch_with_python(streams, settings)

    def starter(query: PipelineQuery) -> Starter:
        sink, checkpoint = {**sink_options, **servers}, f"{checkpoint_dir}/{query.name}"
        writer = _writer(query, streams[query], settings, checkpoint, sink)
        writer = writer.queryName(query.name).outputMode("update")
        writer = writer.trigger(**_trigger(query, settings))

        def start() -> StreamingQuery:
            # After an executor is lost, its slots are unavailable until a new executor registers.
            preflight(spark, {query.name: needs[query.name]})
            return writer.start() if query.name not in slow_starting else start_with_python(writer)

        return start

    ordered = sorted(streams, key=lambda query: query.name not in slow_starting)
    return {query.name: starter(query) for query in ordered}


def _writer(
    query: PipelineQuery, rows: DataFrame, settings: Settings, checkpoint: str, sink: Mapping[str, str]
) -> DataStreamWriter:
    topic = settings.topic(query.target) if query.target else ""
    if settings.exactly_once:
        prefix = settings.topic_prefix + query.name
        return to_kafka(rows, transactional_prefix=prefix, checkpoint=checkpoint, topic=topic, options=sink)
    named = {"topic": topic} if topic else {}
    return rows.writeStream.format("kafka").options(**sink, **named, checkpointLocation=checkpoint)


def start_with_python(writer: DataStreamWriter, attempts: int = MAX_PYTHON_STARTS) -> StreamingQuery:
    """
    Start a query with a Python processor, and wait until the query has finished the first batch.

    On a busy machine, a Python worker can need more than the ten seconds that Spark allows for connecting. The query
    then fails and is started again, up to `attempts` times in total.
    """
    query = writer.start()
    try:
        wait_until(lambda: query.lastProgress, START_TIMEOUT_SECONDS, f"the first batch of {query.name!r}", [query])
    except BaseException as error:
        query.stop()
        if attempts > 1 and SLOW_PYTHON in str(error):
            return start_with_python(writer, attempts - 1)
        raise
    return query


def is_real_time(query: PipelineQuery, settings: Settings) -> bool:
    """Return whether the query runs in real-time mode with these settings."""
    return (settings.python_trigger if query.has_python else settings.trigger) == "real-time"


def micro_batch_with_python(queries: Iterable[PipelineQuery], settings: Settings) -> list[str]:
    """Return the names of those queries that have a Python processor and run in micro-batch mode."""
    return [query.name for query in queries if query.has_python and not is_real_time(query, settings)]


def _trigger(query: PipelineQuery, settings: Settings) -> dict[str, Any]:
    # PySpark 4.3.0's type hints do not contain the keyword argument `realTime`.
    if is_real_time(query, settings):
        return {"realTime": f"{settings.interval_seconds} seconds"}
    return {
        "processingTime": f"{round(1000 * settings.python_interval_seconds) if query.has_python else 0} milliseconds"
    }


def source_tasks(query: PipelineQuery, stream: DataFrame, partitions: Mapping[str, int], settings: Settings) -> int:
    """
    Return the number of task slots that a query needs in addition to the slots of its shuffle stages.

    `partitions` maps each topic to its number of partitions.
    """
    source_partitions = sum(partitions[topic] for topic in query.sources)
    if is_real_time(query, settings):
        # The tick topic has one partition.
        return source_partitions + query.has_python
    # The stages of a micro-batch run one at a time, so only the stage with the most tasks counts.
    return max(source_partitions - slots_needed(stream, 0), 0)
