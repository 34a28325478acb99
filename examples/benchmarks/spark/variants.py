"""
The engines that `make bench` compares, and how each is set.

An interval arrives; cells of a plan leave.
Every mode gets the settings that serve it best here, so that the comparison shows the modes and not a forgotten knob.
"""

from dataclasses import asdict, replace

from examples.benchmarks.harness.baseline import raw_echo
from examples.benchmarks.harness.run import Cell
from examples.benchmarks.harness.workloads import Work
from examples.benchmarks.spark.engine import spark_engine
from examples.benchmarks.spark.queries import Mode, SparkOptions
from examples.realtime.slots import CONFS
from examples.realtime.warm_up import BATCHES

FLUSH, LINGER = "spark.shuffle.streaming.networkBufferMaxWaitTimeMs", "kafka.linger.ms"
FILES, DISK = "spark.sql.streaming.checkpointFileManagerClass", "spark.hadoop.fs.file.impl"
UNTUNED = {
    FLUSH: "50",
    FILES: "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager",
    DISK: "org.apache.hadoop.fs.LocalFileSystem",
}
"""Spark's own defaults of what `spark_session.py` sets for latency."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
COLLECTOR = "-XX:+UseSerialGC -Xmn600m"
"""Takes the least processor time of a machine with two cores, and its pauses are short on a heap of two gigabytes."""
FETCH = {"kafka.fetch.min.bytes": "100000", "kafka.fetch.max.wait.ms": "5"}
"""Options of a Kafka source that wait for company, but no longer than the sink."""
QUICK_BATCHES = 20


def spark_cell(name: str, work: Work, options: SparkOptions) -> Cell:
    """Return a cell for Spark with these options; real-time mode has batch boundaries that must be measured."""
    intervals = options.intervals(work) if options.mode == "real-time" else {}
    return Cell(name, work, spark_engine(options), intervals, asdict(options))


def tuned(mode: Mode) -> SparkOptions:
    """Return the options of a mode as they should be on a small machine."""
    return SparkOptions(mode, confs={JAVA_OPTIONS: java_options(COLLECTOR)})


def java_options(collector: str) -> str:
    """Return the options of every session's JVM, with those of a collector."""
    return f"{CONFS[JAVA_OPTIONS]} {collector}"


def recommended(interval_seconds: float, *, quick: bool = False) -> SparkOptions:
    """Return the options of real-time mode as they should be."""
    batches = QUICK_BATCHES if quick else BATCHES
    return replace(tuned("real-time"), interval_seconds=interval_seconds, warm_up_batches=batches)


def two_copies(options: SparkOptions) -> SparkOptions:
    """Return the options of two copies, which must leave each other some processor time for their boundaries."""
    # Requests of single records would fill two cores, and then each copy has to wait for the boundary of the other.
    return replace(
        options,
        copies=2,
        shuffle_partitions=1,
        source=FETCH,
        sink={**options.sink, LINGER: "5"},
        confs={**options.confs, FLUSH: "5"},
    )


def latency_cells(interval_seconds: float, *, quick: bool = False) -> list[Cell]:
    """
    Return the floor, four modes without state and two with state; if not quick, more.

    Real-time mode runs next to the floor, because the speed of a machine changes while the others run.
    Two copies that are not warm fill two cores, and their boundaries coincide: a quick look would show the opposite.
    """
    untuned = SparkOptions("real-time", interval_seconds, confs=UNTUNED)
    real_time = recommended(interval_seconds, quick=quick)
    cells = [
        Cell("raw echo", "echo", raw_echo),
        spark_cell("real-time", "stateless", real_time),
        spark_cell("real-time", "stateful", real_time),
        *([] if quick else [spark_cell("real-time, two copies", "stateful", two_copies(real_time))]),
        *(spark_cell(mode, "stateless", tuned(mode)) for mode in ("continuous", "async progress", "micro-batch")),
        spark_cell("micro-batch", "stateful", tuned("micro-batch")),
    ]
    if not quick:
        micro_batch = SparkOptions("micro-batch", confs=UNTUNED)
        cells += [
            spark_cell("micro-batch, untuned", "stateless", micro_batch),
            spark_cell("micro-batch, untuned", "stateful", micro_batch),
            spark_cell("real-time, untuned", "stateful", untuned),
            spark_cell("micro-batch", "two hops", tuned("micro-batch")),
            spark_cell("real-time", "two hops", real_time),
        ]
    return cells
