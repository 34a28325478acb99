"""The Spark variants that the benchmarks measure. Each mode has its best settings for a small machine."""

from dataclasses import asdict, replace

from benchmarks.harness.run import Case, baseline_case
from benchmarks.harness.workloads import Workload
from benchmarks.spark.engine import spark_engine
from benchmarks.spark.queries import Mode, SparkOptions
from spark_rtm.realtime.control import SOURCE
from spark_rtm.realtime.warm_up import BATCHES
from spark_rtm.services.spark import CONFS

BUFFER_WAIT_CONF = "spark.shuffle.streaming.networkBufferMaxWaitTimeMs"
CHECKPOINT_MANAGER_CONF = "spark.sql.streaming.checkpointFileManagerClass"
FILE_SYSTEM_CONF = "spark.hadoop.fs.file.impl"
JAVA_OPTIONS_CONF = "spark.driver.extraJavaOptions"
LINGER_OPTION = "kafka.linger.ms"
DEFAULT_CONFS = {
    BUFFER_WAIT_CONF: "50",
    CHECKPOINT_MANAGER_CONF: (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
    ),
    FILE_SYSTEM_CONF: "org.apache.hadoop.fs.LocalFileSystem",
}
"""Spark's defaults of the settings that `spark_rtm.services.spark` changes for latency."""
COLLECTOR_OPTIONS = "-XX:+UseSerialGC -Xmn600m"
"""Garbage collector that takes the least CPU time on two cores, and pauses only briefly with a heap of 2 GB."""
BATCHED_FETCH_OPTIONS = {"kafka.fetch.min.bytes": "100000", "kafka.fetch.max.wait.ms": "5"}
"""Source options that collect several records per fetch, and wait for them no longer than the sink waits."""
QUICK_WARM_UP_BATCHES = 20
COPIES_WAIT_MS = "2"
"""Shorter waits lower p50, but their CPU time delays the batch boundaries: p99.9 is twice as high."""


def spark_case(engine: str, workload: Workload, options: SparkOptions) -> Case:
    """Return a case for Spark with these options. Only real-time mode has batch boundaries to measure."""
    intervals = options.intervals(workload) if options.mode == "real-time" else {}
    return Case(engine, workload, spark_engine(options), intervals, asdict(options))


def tuned(mode: Mode) -> SparkOptions:
    """Return the recommended options of a mode on a small machine."""
    return SparkOptions(mode, confs={JAVA_OPTIONS_CONF: java_options(COLLECTOR_OPTIONS)})


def java_options(collector: str) -> str:
    """Return the JVM options for every session, followed by those for a garbage collector."""
    return f"{CONFS[JAVA_OPTIONS_CONF]} {collector}"


def recommended(interval_seconds: float, *, quick: bool = False) -> SparkOptions:
    """Return the recommended options of real-time mode."""
    batches = QUICK_WARM_UP_BATCHES if quick else BATCHES
    return replace(tuned("real-time"), interval_seconds=interval_seconds, warm_up_batches=batches)


def two_copies(options: SparkOptions) -> SparkOptions:
    """Return the options of two copies. Each copy waits for more rows, which saves CPU time for the other copy."""
    return replace(
        options,
        copies=2,
        shuffle_partitions=1,
        source_format=SOURCE,
        source={**BATCHED_FETCH_OPTIONS, "kafka.fetch.max.wait.ms": COPIES_WAIT_MS},
        sink={**options.sink, LINGER_OPTION: COPIES_WAIT_MS},
        confs={**options.confs, BUFFER_WAIT_CONF: COPIES_WAIT_MS},
    )


def variants(interval_seconds: float, *, quick: bool = False) -> list[Case]:
    """
    Return cases for the baseline, four stateless modes and two stateful ones. A full run has more cases.

    Quick runs omit the two copies. Without a full warm-up, they use two cores fully, and their boundaries coincide.
    """
    real_time = recommended(interval_seconds, quick=quick)
    cases = [
        baseline_case(),
        spark_case("real-time", "stateless", real_time),
        spark_case("real-time", "stateful", real_time),
        *([] if quick else [spark_case("real-time, two copies", "stateful", two_copies(real_time))]),
        *(spark_case(mode, "stateless", tuned(mode)) for mode in ("continuous", "async progress", "micro-batch")),
        spark_case("micro-batch", "stateful", tuned("micro-batch")),
    ]
    if not quick:
        untuned_micro_batch = SparkOptions("micro-batch", confs=DEFAULT_CONFS)
        untuned_real_time = SparkOptions("real-time", interval_seconds, confs=DEFAULT_CONFS)
        cases += [
            spark_case("micro-batch, untuned", "stateless", untuned_micro_batch),
            spark_case("micro-batch, untuned", "stateful", untuned_micro_batch),
            spark_case("real-time, untuned", "stateful", untuned_real_time),
            spark_case("micro-batch", "two hops", tuned("micro-batch")),
            spark_case("real-time", "two hops", real_time),
        ]
    return cases
