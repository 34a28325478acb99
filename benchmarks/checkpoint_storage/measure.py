"""
Measure the pause at the batch boundary with checkpoints on a local disk, in a shared folder and on an object store.

Run the benchmark with `make bench-checkpoint-storage`.
Each run is a run of the whole pipeline on a cluster of two workers, and is valid only if all its results equal the
replay. The object store is a server on this machine, so its numbers do not contain the latency of a network.
"""

import statistics
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.checkpoint_storage.cases import Case, cases
from benchmarks.checkpoint_storage.s3_server import ObjectStore, client_jars, object_store
from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import CaseOptions, conditions
from examples.attribution.demo.live_view import LiveView
from examples.attribution.demo.run import run
from examples.attribution.settings import DemoSettings
from spark_rtm.services import connector, kafka_broker, postgres_server, run_folder
from spark_rtm.services.cluster import job_confs, standalone_cluster
from spark_rtm.services.java import filter_stderr
from spark_rtm.services.spark import FAST_COMPILER_CONFS, build_session

STEM = "checkpoint_storage"
QUICK_RUN = {"duration": 12, "warm_up_seconds": 6, "repeats": 1}
QUERY = "events_to_attributed"
"""The stateful query of the pipeline that runs in real-time mode and has the most state."""
MANAGER_CONF = "spark.sql.streaming.checkpointFileManagerClass"
WORKERS = 2


@dataclass(frozen=True)
class Options(CaseOptions):
    """Options of this benchmark."""

    duration: float = 40
    """Seconds of measured traffic in each run."""
    warm_up_seconds: float = 20
    """Seconds of traffic before the measured part; the boundaries in it do not count."""
    rate: float = 20
    """Records per second."""
    interval_seconds: int = 5
    """Trigger interval of real-time mode in seconds, at least 5. The pause does not depend on it."""
    repeats: int = 1
    """Number of runs of each case. Every second repeat runs the cases in reverse order."""
    shared: str = ""
    """Folder on a file system that all workers share. The default is a folder outside of the run's own folder."""


def measure(options: Options, console: Console) -> Outcome:
    """Run the pipeline with each storage and file manager."""
    runs = list[dict[str, Any]]()
    with ExitStack() as stack:
        folder = run_folder()
        local, shared = (
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="checkpoints-", dir=parent)))
            for parent in (folder, options.shared or folder.parent)
        )
        store = stack.enter_context(object_store())
        selected = [
            case for case in cases(local, shared, store) if options.is_selected(case.storage, case.manager_name)
        ]
        if not selected:
            raise ValueError(f"--filter {' '.join(options.filter)!r} selects no case, so there is nothing to measure")
        run_case = stack.enter_context(_cluster(options, store))
        # In the first run of a cluster, the JVMs load classes and compile code, so its pauses do not count.
        run_case(selected[0])
        for number in range(options.repeats):
            for case in selected[:: -1 if number % 2 else 1]:
                runs.append(run_case(case))
                console.print(f"{case.storage}, {case.manager_name}: {runs[-1]}", soft_wrap=True, highlight=False)
    known = {
        **conditions(replace(options, shared="")),
        "partitions": DemoSettings().partitions,
        "query": QUERY,
        "workers": WORKERS,
    }
    problems = [f"{one['storage']}, {one['manager']}: {one['problem']}" for one in runs if one["problem"]]
    return Outcome(STEM, {"conditions": known, "cases": list(summary(runs)), "runs": runs}, problems)


@contextmanager
def _cluster(options: Options, store: ObjectStore) -> Iterator[Callable[[Case], dict[str, Any]]]:
    """Start the servers, a cluster and a session, and yield the function that runs a case on them."""
    with ExitStack() as stack:
        servers, dsn = stack.enter_context(kafka_broker()), stack.enter_context(postgres_server())
        master = stack.enter_context(standalone_cluster(WORKERS, -(-DemoSettings().slots // WORKERS)))
        jars = ",".join(map(str, [*connector().jars, *client_jars()]))
        confs = {**FAST_COMPILER_CONFS, **store.confs(), **job_confs("examples"), "spark.jars": jars}
        with filter_stderr():
            spark = build_session(STEM, master=master, confs=confs)
        stack.callback(spark.stop)
        store.log_in(spark)
        yield lambda case: _run(options, case, spark, master, servers, dsn)


def _run(options: Options, case: Case, spark: SparkSession, master: str, servers: str, dsn: str) -> dict[str, Any]:
    """Run the pipeline once, and return its pauses and the number of results that differ from the replay."""
    spark.conf.set(MANAGER_CONF, case.manager)
    checkpoint_dir = case.new_checkpoint_dir()
    settings = DemoSettings(
        duration=options.duration,
        warm_up_seconds=options.warm_up_seconds,
        rate=options.rate,
        interval_seconds=options.interval_seconds,
        master=master,
        checkpoint_dir=checkpoint_dir,
        topic_prefix=f"{checkpoint_dir.rpartition('/')[2]}.",
    )
    report = run(settings, spark, servers, dsn, LiveView(), threading.Event())
    warm = report.pauses_ms[QUERY][int(options.warm_up_seconds / options.interval_seconds) :]
    outcome, cpu = report.reconciliation, report.cpu
    return {
        "storage": case.storage,
        "manager": case.manager_name,
        "results": outcome.results,
        "differences": len(outcome.differences),
        "pauses_ms": warm,
        **({"foreign_cores": round(max(0, cpu.machine - cpu.run), 2), "run_cores": round(cpu.run, 2)} if cpu else {}),
        "problem": problem_of(len(outcome.differences), warm),
    }


def problem_of(differences: int, pauses_ms: Sequence[int]) -> str:
    """Return why a run must not be published, or an empty text."""
    if differences:
        return f"{differences} results differ from the replay"
    return "" if pauses_ms else "no batch ended after the warm-up"


def summary(runs: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the number, the median and the maximum of the pauses of all runs of a case."""
    for storage, manager in dict.fromkeys((one["storage"], one["manager"]) for one in runs):
        own = [one for one in runs if (one["storage"], one["manager"]) == (storage, manager)]
        pauses_ms = [pause for one in own for pause in one["pauses_ms"]]
        yield {
            "storage": storage,
            "manager": manager,
            "boundaries": len(pauses_ms),
            "pause_median_ms": round(statistics.median(pauses_ms)) if pauses_ms else None,
            "pause_max_ms": max(pauses_ms, default=None),
            "results": sum(one["results"] for one in own),
            "differences": sum(one["differences"] for one in own),
        }


BENCHMARK = Benchmark(
    "checkpoint-storage", __doc__, Options, measure, "--quick --filter 'object store'", {"quick": QUICK_RUN}
)
