"""Run the stateful query with a trace, and explain its boundaries."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from benchmarks.boundary.phases import Explained, explain
from benchmarks.boundary.trace import marks, trace_file, with_trace
from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.load_generator import TIMES_FILE, stored_times
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from benchmarks.results.record_times import Traffic
from benchmarks.spark.engine import spark_engine
from benchmarks.spark.queries import SparkOptions

WORKLOAD: Workload = "stateful"


def traced_case(name: str, options: SparkOptions, traffic: Traffic, found: list[list[Explained]]) -> Case:
    """Return a case that appends the explained boundaries of each run to `found`."""

    @contextmanager
    def traced(run: Run) -> Iterator[Engine]:
        with spark_engine(with_trace(options, run.folder))(run) as engine:
            yield engine
        found.append(_explained(run.folder, traffic))

    return Case(name, WORKLOAD, traced, options.intervals(WORKLOAD), asdict(options))


def _explained(folder: Path, traffic: Traffic) -> list[Explained]:
    """Explain the boundaries after the warm-up."""
    times = stored_times(folder / TIMES_FILE, traffic)
    start_ms = times.due_us[0] / 1000 + 1000 * traffic.warm_up_seconds
    with trace_file(folder).open(encoding="utf-8") as lines:
        steps = [mark for mark in marks(lines) if mark.at_ms >= start_ms]
    return explain(steps, times)
