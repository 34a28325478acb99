"""
Spark as an engine of the benchmarks: a process for each run, so that a run inherits nothing from the one before.

A run and options arrive; the progress of each batch leaves, a line of JSON each, in a file that the harness reads.
Some settings of real-time mode are read when a context starts, so each run has a context of its own.
"""

import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.settings import Settings
from examples.benchmarks.harness.engine import Engine, Run, Start
from examples.benchmarks.spark.queries import SHORT_INTERVALS, SparkOptions, start_queries
from examples.realtime.slots import build_session, raise_if_failed, wait_until
from examples.realtime.warm_up import warm_up
from examples.services.child import start_child, wait_until_ready

CHECKOUT = Path(__file__).parents[3]
START_SECONDS = 420.0
LEAST_POLL_SECONDS = 0.25
POLLS_PER_INTERVAL = 8
"""Each poll costs what is measured some processor time, so there are few, but none of its batches may be missed."""


def spark_engine(options: SparkOptions) -> Start:
    """Return the engine that does its work with these options."""
    return partial(_engine, options)


@contextmanager
def _engine(options: SparkOptions, run: Run) -> Iterator[Engine]:
    python_path = os.pathsep.join(filter(None, [str(CHECKOUT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": python_path}
    with ExitStack() as stack:
        # They may lie elsewhere than in the folder of the run.
        stack.callback(shutil.rmtree, options.checkpoint(run), ignore_errors=True)
        children = []
        for copy in range(options.copies):
            told = json.dumps([asdict(options), asdict(run), copy], default=str)
            name, log_path = f"Spark ({options.mode})", run.folder / f"spark-{copy}.log"
            command = [sys.executable, "-m", "examples.benchmarks.spark.engine", told]
            children.append(start_child(name, command, log_path=log_path, env=environment))
            stack.callback(children[-1].stop)
        for copy, child in enumerate(children):
            wait_until_ready(child, _ready(run, copy).exists, START_SECONDS)
        yield Engine(tuple(children), tuple(_batches(run, copy) for copy in range(options.copies)))


def work(options: SparkOptions, run: Run, copy: int) -> None:
    """Start a copy of the query when its boundaries are far from those of the copy before, and report its batches."""
    settings = Settings(slots=options.slots, shuffle_partitions=options.shuffle_partitions)
    spark = build_session(settings, {**SHORT_INTERVALS, **options.confs})
    pause, told = threading.Event(), dict.fromkeys(options.intervals(run.work), -1)
    if options.warm_up_batches:
        warm_up(spark, partial(_start_short, spark, options, run), options.warm_up_batches, run.folder)
    if copy:
        wait_until(_ready(run, copy - 1).exists, START_SECONDS, f"the start of copy {copy - 1}")
        # A first batch takes seconds longer, so only its end tells where the boundaries lie; half way is farthest off.
        before = _batches(run, copy - 1)
        size = before.stat().st_size
        wait_until(lambda: before.stat().st_size > size, START_SECONDS, f"the end of a batch of copy {copy - 1}")
        pause.wait(options.interval_seconds / options.copies)
    queries = start_queries(spark, options, run, copy)
    poll_seconds = max(LEAST_POLL_SECONDS, options.interval_seconds / POLLS_PER_INTERVAL)
    with _batches(run, copy).open("w", buffering=1) as file:
        _ready(run, copy).touch()
        while not pause.wait(poll_seconds):
            raise_if_failed(queries)
            for query in queries:
                progress = query.lastProgress
                if progress and progress.batchId != told[query.name]:
                    told[query.name] = progress.batchId
                    file.write(" ".join(progress.json.split()) + "\n")


def _batches(run: Run, copy: int) -> Path:
    return run.folder / f"batches-{copy}.jsonl"


def _ready(run: Run, copy: int) -> Path:
    return run.folder / f"ready-{copy}"


def _start_short(
    spark: SparkSession, options: SparkOptions, run: Run, folder: Path, interval_seconds: float
) -> list[StreamingQuery]:
    # The source is still empty, because the harness sends when this engine is ready.
    return start_queries(spark, replace(options, checkpoints=str(folder), interval_seconds=interval_seconds), run)


def main() -> None:
    """Do the work until this process is ended."""
    options, run, copy = json.loads(sys.argv[1])
    work(SparkOptions(**options), Run(**run | {"folder": Path(run["folder"])}), copy)


if __name__ == "__main__":
    main()
