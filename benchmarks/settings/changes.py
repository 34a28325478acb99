"""The settings that the benchmark varies, each with a value other than the recommended one."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.harness.run import PARTITIONS
from benchmarks.harness.workloads import Workload
from benchmarks.spark.queries import SparkOptions
from benchmarks.spark.variants import (
    BUFFER_WAIT_CONF,
    CHECKPOINT_MANAGER_CONF,
    DEFAULT_CONFS,
    FILE_SYSTEM_CONF,
    JAVA_OPTIONS_CONF,
    LINGER_OPTION,
    java_options,
)
from spark_rtm.realtime.control import SOURCE

STATE = "spark.sql.streaming.stateStore"
ROCKSDB = f"{STATE}.rocksdb"
OTHER_COLLECTOR_OPTION = "-XX:+UseG1GC"
"""The JVM's default garbage collector on two cores."""
MEMORY_DISK = Path("/dev/shm")


@dataclass(frozen=True)
class Change:
    """A difference from the recommended settings."""

    confs: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)
    """Options of the Kafka source."""
    sink: Mapping[str, str] = field(default_factory=dict)
    """Options of the Kafka sink."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Other fields of `SparkOptions`."""
    topic_partitions: int = PARTITIONS

    def applied(self, options: SparkOptions) -> SparkOptions:
        """Return options with this change."""
        return replace(
            options,
            confs={**options.confs, **self.confs},
            source={**options.source, **self.source},
            sink={**options.sink, **self.sink},
            **self.options,
        )


def _conf(name: str, value: str) -> dict[str, Change]:
    """Return a change of one session setting, keyed by a name that shortens a class to its last part."""
    return {f"{name} = {value.rpartition('.')[2]}": Change({name: value})}


def _fetch(wait_ms: int) -> dict[str, Change]:
    """Return a change, keyed by its name, that waits `wait_ms` for each fetch unless 100 kB arrive earlier."""
    options = {"kafka.fetch.max.wait.ms": str(wait_ms), "kafka.fetch.min.bytes": "100000"}
    return {_name(options): Change(source=options)}


def _sink(options: Mapping[str, str]) -> dict[str, Change]:
    return {_name(options): Change(sink=options)}


def _name(options: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in options.items())


KAFKA_CHANGES = {
    **_fetch(5),
    **_fetch(10),
    **_sink({LINGER_OPTION: "5"}),
    **_sink({LINGER_OPTION: "5", "kafka.batch.size": "131072"}),
    "kafka.check.crcs = false": Change(source={"kafka.check.crcs": "false"}),
    f"source = {SOURCE}": Change(options={"source_format": SOURCE}),
    **_conf("spark.plugins", ""),
    "with_latency": Change(options={"latency_in_progress": True}),
}
"""Kafka client settings that matter with and without state."""
STATE_CHANGES = {
    **_conf(BUFFER_WAIT_CONF, "5"),
    **_conf(BUFFER_WAIT_CONF, "50"),
    **{f"spark.sql.shuffle.partitions = {n}": Change(options={"shuffle_partitions": n}) for n in (1, 4)},
    **_conf(FILE_SYSTEM_CONF, DEFAULT_CONFS[FILE_SYSTEM_CONF]),
    f"{JAVA_OPTIONS_CONF} = {OTHER_COLLECTOR_OPTION}": Change(
        {JAVA_OPTIONS_CONF: java_options(OTHER_COLLECTOR_OPTION)}
    ),
    **_conf(f"{ROCKSDB}.changelogCheckpointing.enabled", "false"),
    **_conf(f"{ROCKSDB}.trackTotalNumberOfRows", "false"),
    **_conf(f"{ROCKSDB}.writeBufferSizeMB", "16"),
    **_conf(f"{ROCKSDB}.compression", "none"),
    **_conf(f"{STATE}.compression.codec", "zstd"),
    **_conf("spark.sql.codegen.factoryMode", "NO_CODEGEN"),
    **_conf("spark.sql.streaming.checkpoint.fileChecksum.enabled", "false"),
    **_conf("spark.shuffle.streaming.checksum.enabled", "false"),
    "slots = 16": Change(options={"slots": 16}),
    "warm-up batches = 0": Change(options={"warm_up_batches": 0}),
    "topic partitions = 4": Change(topic_partitions=4),
    "all of these = Spark's defaults": Change(DEFAULT_CONFS, options={"warm_up_batches": 0}),
}
"""Settings that matter only with state or a shuffle."""


def changes_of(base: SparkOptions) -> dict[Workload, dict[str, Change]]:
    """Return the changes of each workload by name. Some depend on the options or the machine."""
    seconds = base.interval_seconds / 2
    both = _conf(CHECKPOINT_MANAGER_CONF, DEFAULT_CONFS[CHECKPOINT_MANAGER_CONF]) | KAFKA_CHANGES
    here = {f"trigger interval = {seconds:g} s": Change(options={"interval_seconds": seconds})}
    if MEMORY_DISK.is_dir():
        here[f"checkpoint = {MEMORY_DISK}"] = Change(options={"checkpoint_dir": str(MEMORY_DISK)})
    is_async = "asyncProgressTrackingEnabled"
    return {
        "stateful": STATE_CHANGES | here | both,
        "stateless": {f"{is_async} = false": Change(sink={is_async: "false"}), **both},
    }
