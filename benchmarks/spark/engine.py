"""Run Spark as a benchmarked engine, in a new process for each run, because each run needs a context of its own."""

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness.engine import Engine, Run, Start
from benchmarks.spark.queries import SparkOptions
from spark_rtm.services.child import Child, start_child, wait_until_ready

REPOSITORY = Path(__file__).parents[2]
START_SECONDS = 420.0


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
    name: str, argument: Mapping[str, Any], log_path: Path, module: str = "benchmarks.spark.process"
) -> Child:
    """Start an engine's process, which keeps its temporary files in the folder of its log."""
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
