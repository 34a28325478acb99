"""
Cases for the table of options.

Real-time mode runs one task for each topic partition and does not limit the size of a batch, so it rejects options that
would change the number of tasks or the size of a batch.
"""

import json
import re
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from tests.pages.cases_of_sources import ACCEPTED, ALL, STATE_STORE
from tests.pages.operator_probe import Observe, OperatorProbe, create_input, once, starts, together, writes

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"


def _source(option: str, value: str) -> Observe:
    return writes(lambda probe: probe.rows(**{option: value}))


def _incompatible(option: str) -> Observe:
    observe = _source(option, "1s" if "Delay" in option else "2")
    return lambda probe: re.sub(option, "...", observe(probe), flags=re.IGNORECASE)


def _limits(probe: OperatorProbe) -> StreamingQuery:
    two_partitions = replace(probe, topic=create_input(probe.kafka, 2))
    last_rows = two_partitions.rows(maxRecordsPerPartition="2", maxPartitions="1").where("k = 'z'")
    return two_partitions.write(last_rows.select("k", F.spark_partition_id())).start()


_limited = once(starts(_limits, "z 0", "z 1"))


def _sink(option: str, value: str, *rows: str) -> Observe:
    return starts(lambda probe: probe.write(probe.rows(), **{option: value}).start(), *rows)


def _conf(key: str, value: str) -> Observe:
    def start(probe: OperatorProbe) -> StreamingQuery:
        configured = replace(probe, spark=probe.spark.newSession())
        configured.spark.conf.set(key, value)
        return configured.write(configured.rows()).start()

    return starts(start)


def _positions(probe: OperatorProbe) -> DataFrame:
    last = probe.rows(startingOffsets=json.dumps({probe.topic: {"0": 4}}))
    pattern = probe.rows(subscribe="", subscribePattern=f"{probe.topic}.*", startingTimestamp="0")
    return last.union(pattern).union(probe.rows(subscribe="", assign=json.dumps({probe.topic: [0]})))


POSITIONS = once(writes(_positions, ALL[-1], *ALL, *ALL))
OPTIONS = {
    "`subscribe`; `subscribePattern`; `assign`": POSITIONS,
    "`startingOffsets` as JSON; `startingTimestamp`": POSITIONS,
    "`kafka.group.id`; `kafka.fetch.max.wait.ms`; `kafka.isolation.level`": ACCEPTED,
    "`maxRecordsPerPartition`": lambda probe: _limited(probe).replace("runs", "runs, has no effect"),
    "`maxPartitions`": lambda probe: _limited(probe).replace("runs", "runs, has no effect"),
    "`maxOffsetsPerTrigger`": _incompatible("maxOffsetsPerTrigger"),
    "`minPartitions`; `minOffsetsPerTrigger`; `maxTriggerDelay`": together(
        *map(_incompatible, ("minPartitions", "minOffsetsPerTrigger", "maxTriggerDelay"))
    ),
    "`endingOffsets`; `kafka.enable.auto.commit`; `kafka.auto.offset.reset`": together(
        _source("endingOffsets", "latest"),
        _source("kafka.enable.auto.commit", "true"),
        _source("kafka.auto.offset.reset", "earliest"),
    ),
    "`kafka.acks`, `kafka.linger.ms`": ACCEPTED,
    "an unknown option, such as `kafka.bogus`": ACCEPTED,
    "column `topic` instead of the option": starts(
        lambda b: b.write_columns(b.rows().select(F.expr("k value"), F.lit(b.target).alias("topic")), topic="").start(),
        *(row.partition(" ")[0] for row in ALL),
    ),
    "neither column nor option `topic`": _sink("topic", ""),
    "`kafka.transactional.id`": _sink("kafka.transactional.id", "one"),
    "`kafka.key.serializer`": _sink("kafka.key.serializer", "any"),
    "no `checkpointLocation`, Kafka sink": _sink("checkpointLocation", ""),
    "`asyncProgressTrackingEnabled=true`, stateless": _sink("asyncProgressTrackingEnabled", "true", *ALL),
    "`asyncProgressTrackingEnabled=true`, stateful": starts(
        lambda b: b.write(b.rows().groupBy("k").count(), asyncProgressTrackingEnabled="true").start()
    ),
    "`asyncProgressTrackingCheckpointIntervalMs` other than 0": _sink(
        "asyncProgressTrackingCheckpointIntervalMs", "1000"
    ),
    f"`{STATE_STORE}.checkpointFormatVersion=1`; `{STATE_STORE}.providerClass=HDFSBackedStateStoreProvider`": together(
        _conf(f"{STATE_STORE}.checkpointFormatVersion", "1"), _conf(f"{STATE_STORE}.providerClass", HDFS)
    ),
    "`spark.sql.execution.sortBeforeRepartition=true`": _conf("spark.sql.execution.sortBeforeRepartition", "true"),
    f"`{STATE_STORE}.rocksdb.changelogCheckpointing.enabled=false`; `spark.sql.adaptive.enabled=true`": ACCEPTED,
}
