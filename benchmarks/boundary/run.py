"""Run the stateful query with a trace, and explain its boundaries."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks.boundary.phases import Explained, explain
from benchmarks.boundary.trace import marks, trace_file, with_trace
from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.load_generator import TIMES_FILE, stored_times
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from benchmarks.results.record_times import Traffic
from benchmarks.spark.engine import spark_engine
from benchmarks.spark.idle_rules import EXCLUDED_CONF
from benchmarks.spark.queries import SparkOptions

WORKLOAD: Workload = "stateful"
SHORT_BOUNDARY = {"spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Settings that remove work from the batch boundary: code generation at the start of each task."""


def short_boundary(options: SparkOptions) -> SparkOptions:
    """Return options with less work at the batch boundary, and with one state task instead of two."""
    # The rules are excluded after the warm-up, which shows which of them have an effect.
    confs = {**options.confs, **SHORT_BOUNDARY}
    return replace(options, confs=confs, shuffle_partitions=1, exclude_idle_rules=True)


def changed(base: SparkOptions, options: SparkOptions) -> dict[str, str]:
    """Return the session settings in which two options differ."""
    confs = {name: value for name, value in options.confs.items() if base.confs.get(name) != value}
    if options.shuffle_partitions != base.shuffle_partitions:
        confs["spark.sql.shuffle.partitions"] = str(options.shuffle_partitions)
    if options.exclude_idle_rules:
        confs[EXCLUDED_CONF] = "all rules that changed nothing during the warm-up"
    return confs


def traced_case(name: str, options: SparkOptions, traffic: Traffic, found: list[list[Explained]]) -> Case:
    """Return a case that adds the explained boundaries of each run to `found`."""

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
