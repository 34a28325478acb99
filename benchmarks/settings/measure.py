"""Change one setting at a time, and measure latency and CPU time. A full run takes about 90 minutes on two cores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.harness.benchmark import Outcome, RunOptions, conditions, outcome_of
from benchmarks.harness.plan import PlannedRun, run_plan
from benchmarks.harness.run import PARTITIONS, Case
from benchmarks.harness.workloads import Workload
from benchmarks.results.run_result import Traffic
from benchmarks.spark.queries import SparkOptions
from benchmarks.spark.variants import (
    BUFFER_WAIT_CONF,
    CHECKPOINT_MANAGER_CONF,
    DEFAULT_CONFS,
    FILE_SYSTEM_CONF,
    JAVA_OPTIONS_CONF,
    LINGER_OPTION,
    java_options,
    recommended,
    spark_case,
)
from spark_rtm.realtime.control import SOURCE

STATE = "spark.sql.streaming.stateStore"
ROCKSDB = f"{STATE}.rocksdb"
OTHER_COLLECTOR_OPTION = "-XX:+UseG1GC"
"""The JVM's default garbage collector on two cores."""
MEMORY_DISK = Path("/dev/shm")
TOPIC_PARTITIONS = "topic_partitions"

Change = Mapping[str, Any]
"""Fields of `SparkOptions` that differ from the recommended options. A mapping extends the mapping of the field."""
UNTOUCHED = "untouched"
GROUP = 5
"""Number of changes between two runs of the untouched query."""


def applied(change: Change, options: SparkOptions) -> SparkOptions:
    """Return options with a change applied. The number of topic partitions is not a Spark option."""
    merged: dict[str, Any] = {
        name: {**getattr(options, name), **value} if isinstance(value, Mapping) else value
        for name, value in change.items()
        if name != TOPIC_PARTITIONS
    }
    return replace(options, **merged)


def _changes(field: str, *all_values: Mapping[str, str]) -> dict[str, Change]:
    """Return changes to entries of `confs`, `source` or `sink`, keyed by a name with a shortened class name."""
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
    """Return the changes of each workload, keyed by name. Some changes depend on the options or the machine."""
    seconds = base.interval_seconds / 2
    both = _changes("confs", {CHECKPOINT_MANAGER_CONF: DEFAULT_CONFS[CHECKPOINT_MANAGER_CONF]}) | KAFKA_CHANGES
    here: dict[str, Change] = {f"trigger interval = {seconds:g} s": {"interval_seconds": seconds}}
    if MEMORY_DISK.is_dir():
        here[f"checkpoint = {MEMORY_DISK}"] = {"checkpoint_dir": str(MEMORY_DISK)}
    is_async = "asyncProgressTrackingEnabled"
    return {"stateful": STATE_CHANGES | here | both, "stateless": _changes("sink", {is_async: "false"}) | both}


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of this benchmark. The default values configure a full run."""

    duration: float = 22
    warm_up_seconds: float = 20
    interval_seconds: float = 6
    repeats: int = 1
    """Number of repetitions of the whole plan."""
    rate: float = 1_000
    """Records per second."""


def measure(options: Options, console: Console) -> Outcome:
    """Measure each selected change, with runs of the untouched query in between. Their range is the noise."""
    base = recommended(options.interval_seconds, quick=options.quick)
    traffic = Traffic(options.rate, options.warm_up_seconds, options.duration)
    cases = plan_of(base, options.selected(cases_of(base))) * options.repeats
    results = run_plan([PlannedRun(case, traffic) for case in cases], options.max_late_runs, console)
    return outcome_of("settings", {"conditions": conditions(options)}, results, console, has_charts=False)


def cases_of(base: SparkOptions) -> list[Case]:
    """Return the case of each change."""
    return [
        replace(spark_case(name, workload, applied(change, base)), partitions=change.get(TOPIC_PARTITIONS, PARTITIONS))
        for workload, named in changes_of(base).items()
        for name, change in named.items()
    ]


def plan_of(base: SparkOptions, cases: Sequence[Case]) -> list[Case]:
    """Return the changes, with an untouched query before each `GROUP` of them and at the end of each workload."""
    plan = list[Case]()
    for workload, changed in groupby(cases, attrgetter("workload")):
        untouched = spark_case(UNTOUCHED, workload, base)
        for number, case in enumerate(changed):
            plan += [untouched, case] if number % GROUP == 0 else [case]
        plan.append(untouched)
    return plan
