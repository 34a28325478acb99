"""
Changes of real-time queries that may lower the CPU time per record, or the pause at a batch boundary.

Each change is measured alone. `benchmarks.price` then combines the changes that helped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from benchmarks.harness.workloads import Workload
from benchmarks.spark.idle_rules import EXCLUDED_CONF
from benchmarks.spark.queries import Between, SparkOptions
from benchmarks.spark.variants import BUFFER_WAIT_CONF, LINGER_OPTION

STATE = "spark.sql.streaming.stateStore"
ROCKSDB = f"{STATE}.rocksdb"
CODE_CONF = "spark.sql.codegen.factoryMode"


@dataclass(frozen=True)
class Change:
    """Settings that differ from the untouched query."""

    confs: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
    """Options of the Kafka source."""
    sink: Mapping[str, str] = field(default_factory=dict)
    """Options of the Kafka sink."""
    shuffle_partitions: int | None = None
    between: Between = "json"

    def applied(self, options: SparkOptions) -> SparkOptions:
        """Return options with this change."""
        return replace(
            options,
            confs={**options.confs, **self.confs},
            source={**options.source, **self.source},
            sink={**options.sink, **self.sink},
            shuffle_partitions=self.shuffle_partitions or options.shuffle_partitions,
            between=options.between if self.between == "json" else self.between,
        )


def _fetch(wait_ms: int) -> Change:
    """Collect records for `wait_ms` per fetch; a fetch of 100 kB would end earlier."""
    return Change(source={"kafka.fetch.min.bytes": "100000", "kafka.fetch.max.wait.ms": str(wait_ms)})


KAFKA_CHANGES = {
    "fetch.max.wait.ms = 5, fetch.min.bytes = 100000": _fetch(5),
    "fetch.max.wait.ms = 10, fetch.min.bytes = 100000": _fetch(10),
    "linger.ms = 5": Change(sink={LINGER_OPTION: "5"}),
    "linger.ms = 5, batch.size = 131072": Change(sink={LINGER_OPTION: "5", "kafka.batch.size": "131072"}),
    "check.crcs = false": Change(source={"kafka.check.crcs": "false"}),
}
"""Settings of the Kafka clients that matter with and without state."""
STATE_CHANGES = {
    "trackTotalNumberOfRows = false": Change({f"{ROCKSDB}.trackTotalNumberOfRows": "false"}),
    "writeBufferSizeMB = 16": Change({f"{ROCKSDB}.writeBufferSizeMB": "16"}),
    "rocksdb.compression = none": Change({f"{ROCKSDB}.compression": "none"}),
    "compression.codec = zstd": Change({f"{STATE}.compression.codec": "zstd"}),
    "checksums = false": Change(
        {
            "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
            "spark.shuffle.streaming.checksum.enabled": "false",
        }
    ),
    "networkBufferMaxWaitTimeMs = 5": Change({BUFFER_WAIT_CONF: "5"}),
    "shuffle.partitions = 1": Change(shuffle_partitions=1),
    "codegen.factoryMode = NO_CODEGEN": Change({CODE_CONF: "NO_CODEGEN"}),
}
"""Settings that matter only with state or with a shuffle."""
HOP_CHANGES = {
    "Avro between the hops": Change(between="avro"),
    "one query with two outputs": Change(between="one query"),
}
CHANGES: dict[Workload, dict[str, Change]] = {
    "stateful": STATE_CHANGES | KAFKA_CHANGES,
    "stateless": KAFKA_CHANGES,
    "two hops": HOP_CHANGES,
}
"""The changes that are measured for each workload, by name."""
SHORT_BOUNDARY = {CODE_CONF: "NO_CODEGEN"}
"""Settings that remove work from the batch boundary: the code that each task generates when it starts."""


def short_boundary(options: SparkOptions) -> SparkOptions:
    """Return options with less work at the batch boundary, with one task instead of two for the state."""
    # After the warm-up, so the warm-up shows which rules have an effect.
    return replace(Change(SHORT_BOUNDARY, shuffle_partitions=1).applied(options), exclude_idle_rules=True)


def changed(base: SparkOptions, options: SparkOptions) -> dict[str, str]:
    """Return the session settings of options that differ from those of other options."""
    confs = {name: value for name, value in options.confs.items() if base.confs.get(name) != value}
    if options.shuffle_partitions != base.shuffle_partitions:
        confs["spark.sql.shuffle.partitions"] = str(options.shuffle_partitions)
    if options.exclude_idle_rules:
        confs[EXCLUDED_CONF] = "all rules that changed nothing during the warm-up"
    return confs
