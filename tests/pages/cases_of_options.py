"""
Cases for the table of options: their outcome in real-time mode on OSS 4.3.0.

Real-time mode runs one task for each topic partition and does not limit the size of a batch, so it refuses options that
would change either.
"""

import json
import re
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from tests.pages.cases_of_sources import ALL
from tests.pages.operator_probe import OperatorProbe, Options, create_input
from tests.pages.outcomes import Case, fails, outcome, refused, runs, together, writes

STATE_STORE = "spark.sql.streaming.stateStore"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
NO_CONF = "at start: `SQL_CONFIGURATION_NOT_SUPPORTED`"
NO_TOPIC = (
    "while running: \"topic option required when no 'topic' attribute is present. "
    'Use the topic option for setting a topic."'
)
NO_SERIALIZER = (
    "while running: \"Kafka option 'key.serializer' is not supported as keys are serialized with ByteArraySerializer.\""
)
NO_ASYNC = 'while running: "Stateful streaming queries does not support async progress tracking at this moment."'
INCOMPATIBLE = 'while running: "... is not compatible with real time mode"'
ILLEGAL_ARGUMENT = "at start: `IllegalArgumentException`"


def _accepted_source_option(what: str, options: Options | Callable[[OperatorProbe], Options], *rows: str) -> Case:
    return runs(what, lambda probe: probe.rows(options(probe) if callable(options) else options), *(rows or ALL))


def _refused_source_option(option: str, value: str, cell: str) -> Case:
    return fails(f"`{option}`", cell, lambda probe: probe.rows({option: value}))


def _incompatible(option: str) -> Case:
    case = _refused_source_option(option, "1s" if "Delay" in option else "2", INCOMPATIBLE)
    return replace(case, observe=lambda b: re.sub(option, "...", case.observe(b), flags=re.IGNORECASE))


def _without_effect(option: str, value: str, *rows: str) -> Case:
    def start(probe: OperatorProbe) -> StreamingQuery:
        two_partitions = replace(probe, topic=create_input(probe.kafka, 2))
        last_rows = two_partitions.rows({option: value}).where("k = 'z'")
        return two_partitions.write(last_rows.select("k", F.spark_partition_id())).start()

    cell = "runs, has no effect"
    return Case(f"`{option}`", cell, lambda probe: outcome(start, probe, list(rows)).replace("runs", cell))


def _accepted_sink_option(what: str, options: Options) -> Case:
    return writes(what, lambda probe: probe.write(probe.rows(), options).start(), *ALL)


def _refused_sink_option(what: str, cell: str, options: Options) -> Case:
    return refused(what, cell, lambda probe: probe.write(probe.rows(), options).start())


def _with_confs(probe: OperatorProbe, confs: dict[str, str]) -> StreamingQuery:
    configured = replace(probe, spark=probe.spark.newSession())
    for key, value in confs.items():
        configured.spark.conf.set(key, value)
    return configured.write(configured.rows()).start()


def _accepted_confs(confs: dict[str, str]) -> Case:
    names = "; ".join(f"`{key}={value}`" for key, value in confs.items())
    return writes(names, lambda probe: _with_confs(probe, confs), *ALL)


def _refused_conf(key: str, value: str) -> Case:
    short_value = value.rpartition(".")[2]
    return refused(f"`{key}={short_value}`", NO_CONF, lambda probe: _with_confs(probe, {key: value}))


SOURCE_OPTIONS = (
    together(
        _accepted_source_option("`subscribe`", {}),
        _accepted_source_option(
            "`subscribePattern`", lambda probe: {"subscribe": None, "subscribePattern": f"{probe.topic}.*"}
        ),
        _accepted_source_option(
            "`assign`", lambda probe: {"subscribe": None, "assign": json.dumps({probe.topic: [0]})}
        ),
    ),
    together(
        _accepted_source_option(
            "`startingOffsets` as JSON", lambda b: {"startingOffsets": json.dumps({b.topic: {"0": 4}})}, ALL[-1]
        ),
        _accepted_source_option("`startingTimestamp`", {"startingTimestamp": "0"}),
    ),
    _accepted_source_option(
        "`kafka.group.id`; `kafka.fetch.max.wait.ms`; `kafka.isolation.level`",
        {
            "kafka.group.id": "cases",
            "kafka.fetch.max.wait.ms": "50",
            "kafka.isolation.level": "read_committed",
        },
    ),
    _without_effect("maxRecordsPerPartition", "2", "z 0", "z 1"),
    _without_effect("maxPartitions", "1", "z 0", "z 1"),
    _incompatible("maxOffsetsPerTrigger"),
    together(*map(_incompatible, ("minPartitions", "minOffsetsPerTrigger", "maxTriggerDelay"))),
    together(
        _refused_source_option("endingOffsets", "latest", ILLEGAL_ARGUMENT),
        _refused_source_option("kafka.enable.auto.commit", "true", ILLEGAL_ARGUMENT),
        _refused_source_option("kafka.auto.offset.reset", "earliest", ILLEGAL_ARGUMENT),
    ),
)

SINK_OPTIONS = (
    _accepted_sink_option("`kafka.acks`, `kafka.linger.ms`", {"kafka.acks": "all", "kafka.linger.ms": "0"}),
    _accepted_sink_option("an unknown option, such as `kafka.bogus`", {"kafka.bogus": "1"}),
    writes(
        "column `topic` instead of the option",
        lambda b: b.write_columns(
            b.rows().select(F.expr("k value"), F.lit(b.target).alias("topic")), {"topic": None}
        ).start(),
        *(row.partition(" ")[0] for row in ALL),
    ),
    _refused_sink_option("neither column nor option `topic`", NO_TOPIC, {"topic": None}),
    _refused_sink_option(
        "`kafka.transactional.id`", "while running: `IllegalStateException`", {"kafka.transactional.id": "one"}
    ),
    _refused_sink_option("`kafka.key.serializer`", NO_SERIALIZER, {"kafka.key.serializer": "any"}),
    _refused_sink_option(
        "no `checkpointLocation`, Kafka sink", "at start: `_LEGACY_ERROR_TEMP_1298`", {"checkpointLocation": None}
    ),
    _accepted_sink_option("`asyncProgressTrackingEnabled=true`, stateless", {"asyncProgressTrackingEnabled": "true"}),
    refused(
        "`asyncProgressTrackingEnabled=true`, stateful",
        NO_ASYNC,
        lambda b: b.write(b.rows().groupBy("k").count(), {"asyncProgressTrackingEnabled": "true"}).start(),
    ),
    _refused_sink_option(
        "`asyncProgressTrackingCheckpointIntervalMs` other than 0",
        "at start: `ASYNC_PROGRESS_TRACKING_CHECKPOINTING_INTERVAL_NON_ZERO`",
        {"asyncProgressTrackingCheckpointIntervalMs": "1000"},
    ),
)

SESSION_OPTIONS = (
    together(
        _refused_conf(f"{STATE_STORE}.checkpointFormatVersion", "1"),
        _refused_conf(f"{STATE_STORE}.providerClass", HDFS),
    ),
    _refused_conf("spark.sql.execution.sortBeforeRepartition", "true"),
    _accepted_confs(
        {f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "false", "spark.sql.adaptive.enabled": "true"}
    ),
)
