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
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

from examples.benchmarks.engine import Engine, Run, Start
from examples.benchmarks.spark_queries import SHORT_INTERVALS, SparkOptions, start_queries
from examples.services.child import start_child, wait_until_ready
from examples.settings import Settings
from examples.spark_session import build_session, raise_if_failed, wait_until

CHECKOUT = Path(__file__).parents[2]
START_SECONDS = 180.0
LEAST_POLL_SECONDS = 0.25
POLLS_PER_INTERVAL = 8
"""Each poll costs what is measured some processor time, so there are few, but none of its batches may be missed."""
BATCHES, READY = "batches.jsonl", "ready"


def spark_engine(options: SparkOptions) -> Start:
    """Return the engine that does its work with these options."""
    return partial(_engine, options)


@contextmanager
def _engine(options: SparkOptions, run: Run) -> Iterator[Engine]:
    told = json.dumps([asdict(options), asdict(run)], default=str)
    command = [sys.executable, "-m", "examples.benchmarks.spark_engine", told]
    python_path = os.pathsep.join(filter(None, [str(CHECKOUT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": python_path}
    child = start_child(f"Spark ({options.mode})", command, log_path=run.folder / "spark.log", env=environment)
    try:
        wait_until_ready(child, (run.folder / READY).exists, START_SECONDS)
        yield Engine((child,), run.folder / BATCHES)
    finally:
        child.stop()
        # They may lie elsewhere than in the folder of the run.
        shutil.rmtree(options.checkpoint(run), ignore_errors=True)


def work(options: SparkOptions, run: Run) -> None:
    """Start the query, say when it runs, start its other copies, and report their batches until one fails."""
    settings = Settings(slots=options.slots, shuffle_partitions=options.shuffle_partitions)
    spark = build_session(settings, {**SHORT_INTERVALS, **options.confs})
    pause, told = threading.Event(), dict.fromkeys(options.intervals(run.work), -1)
    queries = start_queries(spark, options, run)
    first = queries[0]
    (run.folder / READY).touch()
    for copy in range(1, options.copies):
        # A first batch takes seconds longer, so only its end tells where the boundaries lie; half way is farthest off.
        wait_until(lambda: first.lastProgress, START_SECONDS, "the end of a batch", queries)
        pause.wait(options.interval_seconds / options.copies)
        queries += start_queries(spark, options, run, copy)
    poll_seconds = max(LEAST_POLL_SECONDS, options.interval_seconds / POLLS_PER_INTERVAL)
    with (run.folder / BATCHES).open("w", buffering=1) as file:
        while not pause.wait(poll_seconds):
            raise_if_failed(queries)
            for query in queries:
                progress = query.lastProgress
                if progress and progress.batchId != told[query.name]:
                    told[query.name] = progress.batchId
                    file.write(" ".join(progress.json.split()) + "\n")


def main() -> None:
    """Do the work until this process is ended."""
    options, run = (json.loads(sys.argv[1])[place] for place in (0, 1))
    work(SparkOptions(**options), Run(**run | {"folder": Path(run["folder"])}))


if __name__ == "__main__":
    main()
