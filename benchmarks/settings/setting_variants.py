"""
Variants of real-time mode that differ from the recommended settings in one setting each.

Some settings change the latency of rows within a batch, and others change the pause at a batch boundary.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.harness.run import Case
from benchmarks.spark.queries import SparkOptions
from benchmarks.spark.variants import (
    BUFFER_WAIT_CONF,
    CHECKPOINT_MANAGER_CONF,
    DEFAULT_CONFS,
    FILE_SYSTEM_CONF,
    JAVA_OPTIONS_CONF,
    LINGER_OPTION,
    java_options,
    spark_case,
)

RECOMMENDED = "recommended"
MEMORY_DISK = Path("/dev/shm")
OTHER_COLLECTOR_OPTION = "-XX:+UseG1GC"
"""The garbage collector that the JVM chooses by default on two cores."""
ASYNC_OPTION = "asyncProgressTrackingEnabled"
OTHER_VALUES: dict[str, tuple[str, ...]] = {
    BUFFER_WAIT_CONF: ("5", "50"),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": ("false",),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": ("false",),
}
"""Session settings, each with values that differ from the recommended value."""

Variant = tuple[str, SparkOptions]
"""A changed setting as `name = value`, and the options with this change."""


def setting_variants(base: SparkOptions) -> list[Case]:
    """Return, for both workloads, the recommended case and one case for each other value of a setting."""
    stateful = [(RECOMMENDED, base), *_stateful(base)]
    stateless = [(RECOMMENDED, base), *_stateless(base)]
    return [
        *(spark_case(name, "stateful", options) for name, options in stateful),
        replace(spark_case("topic partitions = 4", "stateful", base), partitions=4),
        *(spark_case(name, "stateless", options) for name, options in stateless),
    ]


def _stateful(base: SparkOptions) -> Iterator[Variant]:
    for conf, values in OTHER_VALUES.items():
        for value in values:
            yield f"{conf} = {value}", _with(base, conf, value)
    yield _with_default(base, CHECKPOINT_MANAGER_CONF)
    yield _with_default(base, FILE_SYSTEM_CONF)
    yield f"{LINGER_OPTION} = 5", replace(base, sink={**base.sink, LINGER_OPTION: "5"})
    collector = java_options(OTHER_COLLECTOR_OPTION)
    yield f"{JAVA_OPTIONS_CONF} = {OTHER_COLLECTOR_OPTION}", _with(base, JAVA_OPTIONS_CONF, collector)
    for partitions in (1, 4):
        yield f"spark.sql.shuffle.partitions = {partitions}", replace(base, shuffle_partitions=partitions)
    yield "slots = 16", replace(base, slots=16)
    if MEMORY_DISK.is_dir():
        yield f"checkpoint = {MEMORY_DISK}", replace(base, checkpoint_dir=str(MEMORY_DISK))
    yield "warm-up batches = 0", replace(base, warm_up_batches=0)
    seconds = base.interval_seconds / 2
    yield f"trigger interval = {seconds:g} s", replace(base, interval_seconds=seconds)
    yield "all of these = Spark's defaults", replace(base, confs=DEFAULT_CONFS, warm_up_batches=0)


def _stateless(base: SparkOptions) -> Iterator[Variant]:
    yield f"{ASYNC_OPTION} = false", replace(base, sink={**base.sink, ASYNC_OPTION: "false"})
    yield _with_default(base, CHECKPOINT_MANAGER_CONF)


def _with_default(base: SparkOptions, conf: str) -> Variant:
    value = DEFAULT_CONFS[conf]
    return f"{conf} = {value.rpartition('.')[2]}", _with(base, conf, value)


def _with(base: SparkOptions, conf: str, value: str) -> SparkOptions:
    return replace(base, confs={**base.confs, conf: value})
