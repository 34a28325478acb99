"""Run Spark for one point on its cores: one process fills the state, the next one runs all queries."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.growth.points import PlannedPoint, Point
from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.run import Case
from benchmarks.spark.engine import START_SECONDS, batches_file, ready_file, start_process
from benchmarks.spark.queries import SparkOptions
from spark_rtm.services.child import Child, wait_until_ready

FIRST_QUERY = "copy_0"


def case_of(planned: PlannedPoint, base: SparkOptions, max_fill_seconds: float) -> Case:
    """Return the harness case of a point. Only the first query writes to the measured topic."""
    point = planned.point
    options = replace(base, shuffle_partitions=point.partitions, slots=max(base.slots, point.slots))
    return Case(
        planned.label,
        "counts",
        partial(_engine, point, options, max_fill_seconds),
        {FIRST_QUERY: base.interval_seconds},
        partitions=point.partitions,
        shape=point.shape,
    )


@contextmanager
def _engine(point: Point, options: SparkOptions, max_fill_seconds: float, run: Run) -> Iterator[Engine]:
    if not hasattr(os, "sched_setaffinity"):
        raise RuntimeError("this system cannot pin a process to cores, so no point can be measured; use Linux")
    argument = {
        "point": asdict(point),
        "options": asdict(options),
        "run": asdict(run),
        "max_fill_seconds": max_fill_seconds,
    }
    with _process("fill", argument, run) as child:
        wait_until_ready(child, filled_file(run).exists, START_SECONDS + max_fill_seconds)
    with _process("serve", argument, run) as child:
        wait_until_ready(child, ready_file(run, 0).exists, START_SECONDS)
        yield Engine((child,), (batches_file(run, 0),))


@contextmanager
def _process(task: str, argument: dict[str, Any], run: Run) -> Iterator[Child]:
    name, log_path = f"Spark ({task})", run.folder / f"spark-{task}.log"
    child = start_process(name, {**argument, "task": task}, log_path, "benchmarks.growth.process")
    try:
        yield child
    finally:
        child.stop()


def filled_file(run: Run) -> Path:
    """Return the file that the first process creates when the state is filled."""
    return run.folder / "filled"
