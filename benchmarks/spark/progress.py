"""Code shared by the Spark engine processes: read the run from the arguments, and write the progress file."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.harness.engine import Run
from benchmarks.harness.workloads import Shape
from benchmarks.spark.engine import batches_file, ready_file
from spark_rtm.realtime.queries import raise_if_failed

MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.25, 5.0
POLLS_PER_INTERVAL = 8
"""Number of polls per interval. Polls take the engine's CPU time, and fewer could miss a batch."""


def run_of(values: Mapping[str, Any]) -> Run:
    """Return the run that this process received as JSON."""
    return Run(**{**values, "folder": Path(values["folder"]), "shape": Shape(**values["shape"])})


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
