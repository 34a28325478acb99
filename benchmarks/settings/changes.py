"""The settings that the benchmark varies, each with a value other than the recommended one."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

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
TOPIC_PARTITIONS = "topic_partitions"

Change = Mapping[str, Any]
"""Fields of `SparkOptions` that differ from the recommended ones; a mapping extends that of the field."""


def applied(change: Change, options: SparkOptions) -> SparkOptions:
    """Return options with a change. The number of topic partitions is no option of Spark."""
    merged: dict[str, Any] = {
        name: {**getattr(options, name), **value} if isinstance(value, Mapping) else value
        for name, value in change.items()
        if name != TOPIC_PARTITIONS
    }
    return replace(options, **merged)


def _changes(field: str, *all_values: Mapping[str, str]) -> dict[str, Change]:
    """Return changes of entries of `confs`, `source` or `sink`, keyed by a name that shortens a class."""
    return {
        ", ".join(f"{name} = {value.rpartition('.')[2]}" for name, value in values.items()): {field: values}
        for values in all_values
    }


KAFKA_CHANGES = {
    # Each fetch waits, unless 100 kB arrive earlier.
    **_changes(
        "source",
        *({"kafka.fetch.max.wait.ms": wait_ms, "kafka.fetch.min.bytes": "100000"} for wait_ms in ("5", "10")),
        {"kafka.check.crcs": "false"},
    ),
    **_changes("sink", {LINGER_OPTION: "5"}, {LINGER_OPTION: "5", "kafka.batch.size": "131072"}),
    f"source = {SOURCE}": {"source_format": SOURCE},
    **_changes("confs", {"spark.plugins": ""}),
    "with_latency": {"latency_in_progress": True},
}
"""Kafka client settings that matter with and without state."""
STATE_CHANGES = {
    **_changes("confs", {BUFFER_WAIT_CONF: "5"}, {BUFFER_WAIT_CONF: "50"}),
    **{f"spark.sql.shuffle.partitions = {n}": {"shuffle_partitions": n} for n in (1, 4)},
    f"{JAVA_OPTIONS_CONF} = {OTHER_COLLECTOR_OPTION}": {
        "confs": {JAVA_OPTIONS_CONF: java_options(OTHER_COLLECTOR_OPTION)}
    },
    **_changes(
        "confs",
        {FILE_SYSTEM_CONF: DEFAULT_CONFS[FILE_SYSTEM_CONF]},
        {f"{ROCKSDB}.changelogCheckpointing.enabled": "false"},
        {f"{ROCKSDB}.trackTotalNumberOfRows": "false"},
        {f"{ROCKSDB}.writeBufferSizeMB": "16"},
        {f"{ROCKSDB}.compression": "none"},
        {f"{STATE}.compression.codec": "zstd"},
        {"spark.sql.codegen.factoryMode": "NO_CODEGEN"},
        {"spark.sql.streaming.checkpoint.fileChecksum.enabled": "false"},
        {"spark.shuffle.streaming.checksum.enabled": "false"},
    ),
    "slots = 16": {"slots": 16},
    "warm-up batches = 0": {"warm_up_batches": 0},
    "topic partitions = 4": {TOPIC_PARTITIONS: 4},
    "all of these = Spark's defaults": {"confs": DEFAULT_CONFS, "warm_up_batches": 0},
}
"""Settings that matter only with state or a shuffle."""


def changes_of(base: SparkOptions) -> dict[Workload, dict[str, Change]]:
    """Return the changes of each workload by name. Some depend on the options or the machine."""
    seconds = base.interval_seconds / 2
    both = _changes("confs", {CHECKPOINT_MANAGER_CONF: DEFAULT_CONFS[CHECKPOINT_MANAGER_CONF]}) | KAFKA_CHANGES
    here: dict[str, Change] = {f"trigger interval = {seconds:g} s": {"interval_seconds": seconds}}
    if MEMORY_DISK.is_dir():
        here[f"checkpoint = {MEMORY_DISK}"] = {"checkpoint_dir": str(MEMORY_DISK)}
    is_async = "asyncProgressTrackingEnabled"
    return {"stateful": STATE_CHANGES | here | both, "stateless": _changes("sink", {is_async: "false"}) | both}
