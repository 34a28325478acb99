"""
What real-time mode of OSS 4.3.0 does with options of the Kafka source, the Kafka sink and the session.

Cases leave, one for each row of the table of options.
Real-time mode demands one task for each topic partition and batches without limit, and refuses what says otherwise.
"""

import json
import re
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from tests.pages.bench import Bench, Options, create_input
from tests.pages.cases_of_sources import ALL
from tests.pages.outcomes import Case, fails, outcome, refused, runs, together, writes

STATE_STORE = "spark.sql.streaming.stateStore"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
NO_CONF = "at start: `SQL_CONFIGURATION_NOT_SUPPORTED`"
NO_TOPIC = (
    "later: \"topic option required when no 'topic' attribute is present. Use the topic option for setting a topic.\""
)
NO_SERIALIZER = (
    "later: \"Kafka option 'key.serializer' is not supported as keys are serialized with ByteArraySerializer.\""
)
NO_ASYNC = 'later: "Stateful streaming queries does not support async progress tracking at this moment."'
LIMIT = 'later: "... is not compatible with real time mode"'
ILLEGAL = "at start: `IllegalArgumentException`"


def _read(what: str, options: Options | Callable[[Bench], Options], *rows: str) -> Case:
    return runs(what, lambda bench: bench.rows(options(bench) if callable(options) else options), *(rows or ALL))


def _unread(option: str, value: str, cell: str) -> Case:
    return fails(f"`{option}`", cell, lambda bench: bench.rows({option: value}))


def _unlimited(option: str) -> Case:
    """Return the case of an option that the message names in one spelling or another."""
    case = _unread(option, "1s" if "Delay" in option else "2", LIMIT)
    return replace(case, observe=lambda b: re.sub(option, "...", case.observe(b), flags=re.IGNORECASE))


def _ignored(option: str, value: str, *rows: str) -> Case:
    """Return the case of an option that neither splits nor joins the tasks of a topic with two partitions."""

    def start(bench: Bench) -> StreamingQuery:
        wide = replace(bench, topic=create_input(bench.kafka, 2))
        ends = wide.rows({option: value}).where("k = 'z'")
        return wide.write(ends.select("k", F.spark_partition_id())).start()

    cell = "runs, without effect"
    return Case(f"`{option}`", cell, lambda bench: outcome(start, bench, list(rows)).replace("runs", cell))


def _written(what: str, options: Options) -> Case:
    return writes(what, lambda bench: bench.write(bench.rows(), options).start(), *ALL)


def _unwritten(what: str, cell: str, options: Options) -> Case:
    return refused(what, cell, lambda bench: bench.write(bench.rows(), options).start())


def _with_conf(bench: Bench, key: str, value: str) -> StreamingQuery:
    own = replace(bench, spark=bench.spark.newSession())
    own.spark.conf.set(key, value)
    return own.write(own.rows()).start()


def _conf(key: str, value: str) -> Case:
    return writes(f"`{key}={value}`", lambda bench: _with_conf(bench, key, value), *ALL)


def _no_conf(key: str, value: str) -> Case:
    shown = value.rpartition(".")[2]
    return refused(f"`{key}={shown}`", NO_CONF, lambda bench: _with_conf(bench, key, value))


SOURCE_OPTIONS = (
    together(
        _read("`subscribe`", {}),
        _read("`subscribePattern`", lambda bench: {"subscribe": None, "subscribePattern": f"{bench.topic}.*"}),
        _read("`assign`", lambda bench: {"subscribe": None, "assign": json.dumps({bench.topic: [0]})}),
    ),
    together(
        _read("`startingOffsets` as JSON", lambda b: {"startingOffsets": json.dumps({b.topic: {"0": 4}})}, ALL[-1]),
        _read("`startingTimestamp`", {"startingTimestamp": "0"}),
    ),
    together(
        _read("`kafka.group.id`", {"kafka.group.id": "cases"}),
        _read("`kafka.fetch.max.wait.ms`", {"kafka.fetch.max.wait.ms": "50"}),
        _read("`kafka.isolation.level`", {"kafka.isolation.level": "read_committed"}),
    ),
    _ignored("maxRecordsPerPartition", "2", "z 0", "z 1"),
    _ignored("maxPartitions", "1", "z 0", "z 1"),
    _unlimited("maxOffsetsPerTrigger"),
    together(*map(_unlimited, ("minPartitions", "minOffsetsPerTrigger", "maxTriggerDelay"))),
    together(
        _unread("endingOffsets", "latest", ILLEGAL),
        _unread("kafka.enable.auto.commit", "true", ILLEGAL),
        _unread("kafka.auto.offset.reset", "earliest", ILLEGAL),
    ),
)

SINK_OPTIONS = (
    _written("`kafka.acks`, `kafka.linger.ms`", {"kafka.acks": "all", "kafka.linger.ms": "0"}),
    _written("an unknown option, such as `kafka.bogus`", {"kafka.bogus": "1"}),
    writes(
        "column `topic` in place of the option",
        lambda b: b.write_columns(
            b.rows().select(F.expr("k value"), F.lit(b.target).alias("topic")), {"topic": None}
        ).start(),
        *(row.partition(" ")[0] for row in ALL),
    ),
    _unwritten("neither column nor option `topic`", NO_TOPIC, {"topic": None}),
    _unwritten("`kafka.transactional.id`", "later: `IllegalStateException`", {"kafka.transactional.id": "one"}),
    _unwritten("`kafka.key.serializer`", NO_SERIALIZER, {"kafka.key.serializer": "any"}),
    _unwritten(
        "no `checkpointLocation`, sink Kafka", "at start: `_LEGACY_ERROR_TEMP_1298`", {"checkpointLocation": None}
    ),
    _written("`asyncProgressTrackingEnabled=true`, stateless", {"asyncProgressTrackingEnabled": "true"}),
    refused(
        "`asyncProgressTrackingEnabled=true`, stateful",
        NO_ASYNC,
        lambda b: b.write(b.rows().groupBy("k").count(), {"asyncProgressTrackingEnabled": "true"}).start(),
    ),
    _unwritten(
        "`asyncProgressTrackingCheckpointIntervalMs` other than 0",
        "at start: `ASYNC_PROGRESS_TRACKING_CHECKPOINTING_INTERVAL_NON_ZERO`",
        {"asyncProgressTrackingCheckpointIntervalMs": "1000"},
    ),
)

SESSION_OPTIONS = (
    together(
        _no_conf(f"{STATE_STORE}.checkpointFormatVersion", "1"),
        _no_conf(f"{STATE_STORE}.providerClass", HDFS),
    ),
    _no_conf("spark.sql.execution.sortBeforeRepartition", "true"),
    together(
        _conf(f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled", "false"),
        _conf("spark.sql.adaptive.enabled", "true"),
    ),
)
