"""
Run Spark as a benchmarked engine, in a new process for each copy of the queries.

The second half of this module runs in that process. It starts one copy of the queries, and writes their progress.
"""

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.harness.engine import Engine, Run, Start
from benchmarks.harness.workloads import Shape
from benchmarks.spark.queries import SHORT_INTERVALS, SparkOptions, is_staggered, names_of, start_queries
from spark_rtm.realtime.control import stagger
from spark_rtm.realtime.queries import raise_if_failed
from spark_rtm.realtime.warm_up import warm_up
from spark_rtm.services.child import Child, start_child, wait_until_ready
from spark_rtm.services.spark import build_session

REPOSITORY = Path(__file__).parents[2]
START_SECONDS = 420.0
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.25, 5.0
POLLS_PER_INTERVAL = 8
"""Number of progress polls per trigger interval. Polls take the engine's CPU time, but fewer could miss a batch."""


def spark_engine(options: SparkOptions) -> Start:
    """Return the engine that runs Spark with these options."""
    return partial(_engine, options)


@contextmanager
def _engine(options: SparkOptions, run: Run) -> Iterator[Engine]:
    with ExitStack() as stack:
        # The checkpoints may be outside the folder of the run, so they are deleted separately.
        stack.callback(shutil.rmtree, options.checkpoint(run), ignore_errors=True)
        children = []
        for copy in range(options.copies):
            argument = {"options": asdict(options), "run": asdict(run), "copy": copy}
            name, log_path = f"Spark ({options.mode})", run.folder / f"spark-{copy}.log"
            children.append(start_process(name, argument, log_path))
            stack.callback(children[-1].stop)
        for copy, child in enumerate(children):
            wait_until_ready(child, ready_file(run, copy).exists, START_SECONDS)
        yield Engine(tuple(children), tuple(batches_file(run, copy) for copy in range(options.copies)))


def start_process(
    name: str, argument: Mapping[str, Any], log_path: Path, module: str = "benchmarks.spark.engine"
) -> Child:
    """Start an engine's process, whose temporary files are in the folder of its log."""
    python_path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": python_path, "TMPDIR": str(log_path.parent)}
    command = [sys.executable, "-m", module, json.dumps(argument, default=str)]
    return start_child(name, command, log_path=log_path, env=environment)


def batches_file(run: Run, copy: int) -> Path:
    """Return the file with the progress of a copy's batches."""
    return run.folder / f"batches-{copy}.jsonl"


def ready_file(run: Run, copy: int) -> Path:
    """Return the file that a copy creates when its queries run."""
    return run.folder / f"ready-{copy}"


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


def serve(spark: SparkSession, options: SparkOptions, run: Run, copy: int) -> None:
    """Start a copy of the queries, keep its boundaries away from those of the previous copy, and write the progress."""
    if options.warm_up_batches:
        # The source is still empty, because the harness sends records only after this engine is ready.
        warm(spark, options, run, partial(start_queries, spark))
    queries = start_queries(spark, options, run, copy)
    if is_staggered(options, copy):
        # Commit each query's batch in the middle of the previous copy's batches, in a thread that ends with the query.
        for query, other in zip(queries, names_of(run.workload, copy - 1), strict=True):
            last_commit = partial(_last_commit, options.checkpoint(run) / other / "commits")
            arguments = (query, last_commit, options.interval_seconds / options.copies)
            threading.Thread(target=stagger, args=arguments, daemon=True).start()
    write_progress(queries, run, copy, options.interval_seconds)


def warm(
    spark: SparkSession, options: SparkOptions, run: Run, start: Callable[[SparkOptions, Run], list[StreamingQuery]]
) -> None:
    """Run the queries of `start` in short batches, with checkpoints of their own."""

    def start_short(folder: Path, interval_seconds: float) -> list[StreamingQuery]:
        return start(replace(options, checkpoint_dir=str(folder), interval_seconds=interval_seconds), run)

    warm_up(spark, start_short, options.warm_up_batches, run.folder)


def _last_commit(commits: Path) -> int:
    return max((int(path.name) for path in commits.glob("[0-9]*")), default=-1)


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


def main() -> None:
    """Run the queries until this process is stopped."""
    argument = json.loads(sys.argv[1])
    options = SparkOptions(**argument["options"])
    serve(session(options), options, run_of(argument["run"]), argument["copy"])


if __name__ == "__main__":
    main()
