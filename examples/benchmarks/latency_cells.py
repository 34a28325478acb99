"""
The engines that `make bench` compares, and how each is set.

An interval arrives; cells of a plan leave.
Every mode gets the settings that serve it best here, so that the comparison shows the modes and not a forgotten knob.
"""

from dataclasses import asdict, replace

from examples.benchmarks.echo import raw_echo
from examples.benchmarks.spark_engine import spark_engine
from examples.benchmarks.spark_queries import SparkOptions
from examples.benchmarks.trial import Cell
from examples.benchmarks.work import Work

UNTUNED = {
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "50",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
    ),
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
}
"""Spark's own defaults of what `spark_session.py` sets for latency."""


def spark_cell(name: str, work: Work, options: SparkOptions) -> Cell:
    """Return a cell for Spark with these options; real-time mode has batch boundaries that must be measured."""
    intervals = options.intervals(work) if options.mode == "real-time" else {}
    return Cell(name, work, spark_engine(options), intervals, asdict(options))


def two_copies(options: SparkOptions) -> SparkOptions:
    """Return the options of two copies, which must leave each other some processor time for their boundaries."""
    # Requests of single records would fill two cores, and then each copy has to wait for the boundary of the other.
    return replace(options, copies=2, sink={**options.sink, "kafka.linger.ms": "2"})


def latency_cells(interval_seconds: float, *, quick: bool = False) -> list[Cell]:
    """Return the floor, four modes without state, with state two modes and two copies; if not quick, more."""
    real_time = SparkOptions("real-time", interval_seconds)
    cells = [
        Cell("raw echo", "echo", raw_echo),
        *(
            spark_cell(mode, "stateless", SparkOptions(mode))
            for mode in ("micro-batch", "async progress", "continuous")
        ),
        spark_cell("real-time", "stateless", real_time),
        spark_cell("micro-batch", "stateful", SparkOptions("micro-batch")),
        spark_cell("real-time", "stateful", real_time),
        spark_cell("real-time, two copies", "stateful", two_copies(real_time)),
    ]
    if not quick:
        micro_batch = SparkOptions("micro-batch", confs=UNTUNED)
        cells += [
            spark_cell("micro-batch, untuned", "stateless", micro_batch),
            spark_cell("micro-batch, untuned", "stateful", micro_batch),
            spark_cell("real-time, untuned", "stateful", replace(real_time, confs=UNTUNED)),
            spark_cell("micro-batch", "two hops", SparkOptions("micro-batch")),
            spark_cell("real-time", "two hops", real_time),
        ]
    return cells
