"""The process of a Spark engine, which runs one copy of the queries and writes their progress."""

import json
import sys
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.harness.engine import Run
from benchmarks.spark.engine import START_SECONDS, batches_file, ready_file
from benchmarks.spark.queries import SparkOptions, is_staggered, names_of, start_queries
from benchmarks.spark.serving import run_of, session, warm, write_progress
from spark_rtm.realtime.control import stagger
from spark_rtm.realtime.queries import wait_until


def serve(spark: SparkSession, options: SparkOptions, run: Run, copy: int) -> None:
    """Start a copy of the queries between two boundaries of the previous copy, and write its progress."""
    if options.warm_up_batches:
        # The source is still empty, because the harness sends records only after this engine is ready.
        warm(spark, options, run, partial(start_queries, spark))
    if copy:
        _wait_between_boundaries(options, run, copy)
    queries = start_queries(spark, options, run, copy)
    if is_staggered(options, copy):
        _stagger(queries, options, run, copy)
    write_progress(queries, run, copy, options.interval_seconds)


def _stagger(queries: Sequence[StreamingQuery], options: SparkOptions, run: Run, copy: int) -> None:
    """Commit each query in the middle of the previous copy's batches, in a thread that ends with the query."""
    for query, other in zip(queries, names_of(run.workload, copy - 1), strict=True):
        commits = options.checkpoint(run) / other / "commits"
        arguments = (query, partial(_last_commit, commits), options.interval_seconds / options.copies)
        threading.Thread(target=stagger, args=arguments, daemon=True).start()


def _last_commit(commits: Path) -> int:
    return max((int(path.name) for path in commits.glob("[0-9]*")), default=-1)


def _wait_between_boundaries(options: SparkOptions, run: Run, copy: int) -> None:
    """Wait until half an interval (with two copies) has passed since the previous copy's last boundary."""
    wait_until(ready_file(run, copy - 1).exists, START_SECONDS, f"the start of copy {copy - 1}")
    # The first batch takes seconds longer, so the times of the boundaries are known only after this batch ends.
    batches = batches_file(run, copy - 1)
    size = batches.stat().st_size
    wait_until(lambda: batches.stat().st_size > size, START_SECONDS, f"the end of a batch of copy {copy - 1}")
    threading.Event().wait(options.interval_seconds / options.copies)


def main() -> None:
    """Run the queries until this process is stopped."""
    argument = json.loads(sys.argv[1])
    options = SparkOptions(**argument["options"])
    serve(session(options), options, run_of(argument["run"]), argument["copy"])


if __name__ == "__main__":
    main()
