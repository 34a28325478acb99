"""
Turn one knob at a time around the recommended settings of real-time mode: `make bench-tuning`.

What arrives are options; what leaves are tables, `tuning.json`, and its chart. Exit status 1 if a run is invalid.
Real-time mode has knobs for the row within a batch, and others for the boundary; a table must show both.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from examples.benchmarks.harness.cli import Lengths, is_chosen, parser_of, with_lengths
from examples.benchmarks.harness.load_generator import Traffic
from examples.benchmarks.harness.plan import interleaved, plain_console, run_plan
from examples.benchmarks.harness.run import Cell
from examples.benchmarks.latency import conditions, ended, show, write
from examples.benchmarks.results.summary import summarise
from examples.benchmarks.spark.queries import SparkOptions
from examples.benchmarks.spark.variants import (
    DISK,
    FILES,
    FLUSH,
    JAVA_OPTIONS,
    LINGER,
    UNTUNED,
    java_options,
    recommended,
    spark_cell,
)

FULL = Lengths(2, 6, 20, 22)
RECOMMENDED = "recommended"
MEMORY_DISK = Path("/dev/shm")

CHECKSUMS = "spark.sql.streaming.checkpoint.fileChecksum.enabled"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
ASYNC = "asyncProgressTrackingEnabled"

SESSION: dict[str, tuple[str, ...]] = {
    FLUSH: ("5", "50"),
    CHECKSUMS: ("false",),
    CHANGELOG: ("false",),
}
"""Values besides the recommended one."""
OTHER_COLLECTOR = "-XX:+UseG1GC"
"""What the JVM itself chooses on two cores."""

Variant = tuple[str, SparkOptions]
"""What was turned, with the knob and its value on both sides of ` = `."""


def knob_cells(base: SparkOptions) -> list[Cell]:
    """Return the recommended settings, and each knob at its other values, for both works."""
    stateful, stateless = ([(RECOMMENDED, base), *knobs] for knobs in (_of_state(base), _without_state(base)))
    return [
        *(spark_cell(name, "stateful", options) for name, options in stateful),
        replace(spark_cell("topic partitions = 4", "stateful", base), partitions=4),
        *(spark_cell(name, "stateless", options) for name, options in stateless),
    ]


def _of_state(base: SparkOptions) -> Iterator[Variant]:
    for conf, values in SESSION.items():
        for value in values:
            yield f"{conf} = {value}", _with(base, conf, value)
    yield _untuned(base, FILES)
    yield _untuned(base, DISK)
    yield f"{LINGER} = 5", replace(base, sink={**base.sink, LINGER: "5"})
    yield f"{JAVA_OPTIONS} = {OTHER_COLLECTOR}", _with(base, JAVA_OPTIONS, java_options(OTHER_COLLECTOR))
    for partitions in (1, 4):
        yield f"spark.sql.shuffle.partitions = {partitions}", replace(base, shuffle_partitions=partitions)
    yield "slots = 16", replace(base, slots=16)
    if MEMORY_DISK.is_dir():
        yield f"checkpoint = {MEMORY_DISK}", replace(base, checkpoints=str(MEMORY_DISK))
    yield "warm-up batches = 0", replace(base, warm_up_batches=0)
    seconds = base.interval_seconds / 2
    yield f"trigger interval = {seconds:g} s", replace(base, interval_seconds=seconds)
    yield "all of these = Spark's defaults", replace(base, confs=UNTUNED, warm_up_batches=0)


def _untuned(base: SparkOptions, conf: str) -> Variant:
    return f"{conf} = {UNTUNED[conf].rpartition('.')[2]}", _with(base, conf, UNTUNED[conf])


def _with(base: SparkOptions, conf: str, value: str) -> SparkOptions:
    return replace(base, confs={**base.confs, conf: value})


def _without_state(base: SparkOptions) -> Iterator[Variant]:
    yield f"{ASYNC} = false", replace(base, sink={**base.sink, ASYNC: "false"})
    yield _untuned(base, FILES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the runs, print and write what they have shown; return 1 if one of them does not count."""
    parser = parser_of("tuning", __doc__, "--quick --only FileManager --only recommended")
    # On cores that are full every knob that saves a little processor time would look good, and no other would show.
    parser.add_argument("--rate", type=float, default=300, help="records per second")
    options = with_lengths(parser.parse_args(arguments), FULL)
    return ended(lambda: _measure(options))


def _measure(options: argparse.Namespace) -> int:
    console, base = plain_console(), recommended(options.interval_seconds, quick=options.quick)
    cells = [cell for cell in knob_cells(base) if is_chosen(options, cell.work, cell.name)]
    traffic = Traffic(options.rate, options.warm_up_seconds, options.measured_seconds)
    trials = run_plan(interleaved(cells, [traffic], options.repeats), options.partitions, console)
    content = {"conditions": conditions(options), **summarise(trials)}
    show(content, console)
    return write(content, trials, "tuning", console, keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
