"""The process of a Spark engine, which runs one copy of the queries and writes the progress of the copy's batches."""

import json
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.benchmarks.harness.engine import Run
from examples.benchmarks.spark.engine import START_SECONDS, batches_file, ready_file
from examples.benchmarks.spark.progress import run_of, write_progress
from examples.benchmarks.spark.queries import SHORT_INTERVALS, SparkOptions, start_queries
from examples.realtime.queries import wait_until
from examples.realtime.warm_up import warm_up
from examples.services.spark import build_session


def serve(options: SparkOptions, run: Run, copy: int) -> None:
    """Start a copy of the queries between two batch boundaries of the previous copy, and write its progress."""
    spark = build_session(
        "benchmark",
        slots=options.slots,
        shuffle_partitions=options.shuffle_partitions,
        confs={**SHORT_INTERVALS, **options.confs},
    )
    if options.warm_up_batches:
        warm_up(spark, partial(_start_short, spark, options, run), options.warm_up_batches, run.folder)
    if copy:
        _wait_between_boundaries(options, run, copy)
    queries = start_queries(spark, options, run, copy)
    write_progress(queries, run, copy, options.interval_seconds)


def _wait_between_boundaries(options: SparkOptions, run: Run, copy: int) -> None:
    """Wait until half an interval (with two copies) has passed since the previous copy's last batch boundary."""
    wait_until(ready_file(run, copy - 1).exists, START_SECONDS, f"the start of copy {copy - 1}")
    # The first batch takes seconds longer, so the times of the boundaries are known only after this batch ends.
    batches = batches_file(run, copy - 1)
    size = batches.stat().st_size
    wait_until(lambda: batches.stat().st_size > size, START_SECONDS, f"the end of a batch of copy {copy - 1}")
    threading.Event().wait(options.interval_seconds / options.copies)


def _start_short(
    spark: SparkSession, options: SparkOptions, run: Run, folder: Path, interval_seconds: float
) -> list[StreamingQuery]:
    # The source is still empty, because the harness sends records only after this engine is ready.
    return start_queries(spark, replace(options, checkpoint_dir=str(folder), interval_seconds=interval_seconds), run)


def main() -> None:
    """Run the queries until this process is stopped."""
    options, run, copy = json.loads(sys.argv[1])
    serve(SparkOptions(**options), run_of(run), copy)


if __name__ == "__main__":
    main()
