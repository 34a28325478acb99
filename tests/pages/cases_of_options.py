"""
Cases for the table of options.

Real-time mode runs one task for each topic partition and does not limit the size of a batch, so it refuses options that
would change either.
"""

import json
import re
from dataclasses import replace

from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from tests.pages.cases_of_sources import ALL
from tests.pages.operator_probe import OperatorProbe, Options, create_input
from tests.pages.outcomes import Observe, outcome, starts, together, writes

STATE_STORE = "spark.sql.streaming.stateStore"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


def _source(options: Options, *rows: str) -> Observe:
    return writes(lambda probe: probe.rows(options), *rows)


def _incompatible(option: str) -> Observe:
    observe = _source({option: "1s" if "Delay" in option else "2"})
    return lambda probe: re.sub(option, "...", observe(probe), flags=re.IGNORECASE)


def _without_effect(option: str, value: str) -> Observe:
    def start(probe: OperatorProbe) -> StreamingQuery:
        two_partitions = replace(probe, topic=create_input(probe.kafka, 2))
        last_rows = two_partitions.rows({option: value}).where("k = 'z'")
        return two_partitions.write(last_rows.select("k", F.spark_partition_id())).start()

    return lambda probe: outcome(start, probe, ["z 0", "z 1"]).replace("runs", "runs, has no effect")


def _sink(options: Options, *rows: str) -> Observe:
    return starts(lambda probe: probe.write(probe.rows(), options).start(), *rows)


def _confs(confs: dict[str, str], *rows: str) -> Observe:
    def start(probe: OperatorProbe) -> StreamingQuery:
        configured = replace(probe, spark=probe.spark.newSession())
        for key, value in confs.items():
            configured.spark.conf.set(key, value)
        return configured.write(configured.rows()).start()

    return starts(start, *rows)


OPTIONS = {
    "`subscribe`; `subscribePattern`; `assign`": writes(
        lambda b: (
            b.rows()
            .union(b.rows({"subscribe": None, "subscribePattern": f"{b.topic}.*"}))
            .union(b.rows({"subscribe": None, "assign": json.dumps({b.topic: [0]})}))
        ),
        *ALL * 3,
    ),
    "`startingOffsets` as JSON; `startingTimestamp`": writes(
        lambda b: b.rows({"startingOffsets": json.dumps({b.topic: {"0": 4}})}).union(
            b.rows({"startingTimestamp": "0"})
        ),
        *(ALL[-1], *ALL),
    ),
    "`kafka.group.id`; `kafka.fetch.max.wait.ms`; `kafka.isolation.level`": _source(
        {"kafka.group.id": "cases", "kafka.fetch.max.wait.ms": "50", "kafka.isolation.level": "read_committed"}, *ALL
    ),
    "`maxRecordsPerPartition`": _without_effect("maxRecordsPerPartition", "2"),
    "`maxPartitions`": _without_effect("maxPartitions", "1"),
    "`maxOffsetsPerTrigger`": _incompatible("maxOffsetsPerTrigger"),
    "`minPartitions`; `minOffsetsPerTrigger`; `maxTriggerDelay`": together(
        *map(_incompatible, ("minPartitions", "minOffsetsPerTrigger", "maxTriggerDelay"))
    ),
    "`endingOffsets`; `kafka.enable.auto.commit`; `kafka.auto.offset.reset`": together(
        _source({"endingOffsets": "latest"}),
        _source({"kafka.enable.auto.commit": "true"}),
        _source({"kafka.auto.offset.reset": "earliest"}),
    ),
    "`kafka.acks`, `kafka.linger.ms`": _sink({"kafka.acks": "all", "kafka.linger.ms": "0"}, *ALL),
    "an unknown option, such as `kafka.bogus`": _sink({"kafka.bogus": "1"}, *ALL),
    "column `topic` instead of the option": starts(
        lambda b: b.write_columns(
            b.rows().select(F.expr("k value"), F.lit(b.target).alias("topic")), {"topic": None}
        ).start(),
        *(row.partition(" ")[0] for row in ALL),
    ),
    "neither column nor option `topic`": _sink({"topic": None}),
    "`kafka.transactional.id`": _sink({"kafka.transactional.id": "one"}),
    "`kafka.key.serializer`": _sink({"kafka.key.serializer": "any"}),
    "no `checkpointLocation`, Kafka sink": _sink({"checkpointLocation": None}),
    "`asyncProgressTrackingEnabled=true`, stateless": _sink({"asyncProgressTrackingEnabled": "true"}, *ALL),
    "`asyncProgressTrackingEnabled=true`, stateful": starts(
        lambda b: b.write(b.rows().groupBy("k").count(), {"asyncProgressTrackingEnabled": "true"}).start()
    ),
    "`asyncProgressTrackingCheckpointIntervalMs` other than 0": _sink(
        {"asyncProgressTrackingCheckpointIntervalMs": "1000"}
    ),
    f"`{STATE_STORE}.checkpointFormatVersion=1`; `{STATE_STORE}.providerClass=HDFSBackedStateStoreProvider`": together(
        _confs({f"{STATE_STORE}.checkpointFormatVersion": "1"}), _confs({f"{STATE_STORE}.providerClass": HDFS})
    ),
    "`spark.sql.execution.sortBeforeRepartition=true`": _confs({"spark.sql.execution.sortBeforeRepartition": "true"}),
    f"`{STATE_STORE}.rocksdb.changelogCheckpointing.enabled=false`; `spark.sql.adaptive.enabled=true`": _confs(
        {f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled": "false", "spark.sql.adaptive.enabled": "true"}, *ALL
    ),
}
