"""The parts of all Spark engine processes: arguments, session, warm-up and the file with the progress of batches."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.harness.engine import Run
from benchmarks.harness.workloads import Shape
from benchmarks.spark.engine import batches_file, ready_file
from benchmarks.spark.queries import SHORT_INTERVALS, SparkOptions
from spark_rtm.realtime.queries import raise_if_failed
from spark_rtm.realtime.warm_up import warm_up
from spark_rtm.services.spark import build_session

MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.25, 5.0
POLLS_PER_INTERVAL = 8
"""Number of polls per interval. Polls take the engine's CPU time, and fewer could miss a batch."""


def run_of(values: Mapping[str, Any]) -> Run:
    """Return the run that this process received as JSON."""
    return Run(**{**values, "folder": Path(values["folder"]), "shape": Shape(**values["shape"])})


def session(options: SparkOptions) -> SparkSession:
    """Start a session with the settings of an engine."""
    return build_session(
        "benchmark",
        slots=options.slots,
        shuffle_partitions=options.shuffle_partitions,
        confs={**SHORT_INTERVALS, **options.confs},
    )


def warm(
    spark: SparkSession, options: SparkOptions, run: Run, start: Callable[[SparkOptions, Run], list[StreamingQuery]]
) -> None:
    """Run the queries of `start` in short batches, with checkpoints outside those of the run."""

    def start_short(folder: Path, interval_seconds: float) -> list[StreamingQuery]:
        return start(replace(options, checkpoint_dir=str(folder), interval_seconds=interval_seconds), run)

    warm_up(spark, start_short, options.warm_up_batches, run.folder)


def write_progress(queries: Sequence[StreamingQuery], run: Run, copy: int, interval_seconds: float) -> None:
    """Report that the queries are ready, and write the progress of each batch until the process is stopped."""
    pause, last_batch = threading.Event(), {query.name: -1 for query in queries}
    poll_seconds = min(MAX_POLL_SECONDS, max(MIN_POLL_SECONDS, interval_seconds / POLLS_PER_INTERVAL))
    with batches_file(run, copy).open("w", buffering=1) as file:
        ready_file(run, copy).touch()
        while not pause.wait(poll_seconds):
            raise_if_failed(queries)
            for query in queries:
                progress = query.lastProgress
                if progress and progress.batchId != last_batch[query.name]:
                    last_batch[query.name] = progress.batchId
                    file.write(" ".join(progress.json.split()) + "\n")
