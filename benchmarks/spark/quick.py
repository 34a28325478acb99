"""
Run the modes of a quick run one after another in one session, which starts while the broker is warmed up.

The aggregation in real-time mode runs after all other queries, so the JVM has compiled most of its code by then. In a
session of its own, it needs a warm-up of minutes to reach its usual latency. The baseline runs last: measured first, it
is slower than real-time mode, because the broker is still cold.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from benchmarks.harness.baseline import BASELINE, baseline_case
from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from benchmarks.results.record_times import Traffic
from benchmarks.spark.engine import (
    START_SECONDS,
    batches_file,
    ready_file,
    request_file,
    start_process,
    started_file,
    stop_file,
    stopped_file,
)
from benchmarks.spark.queries import SparkOptions
from benchmarks.spark.variants import recommended, spark_case, tuned
from spark_rtm.services import run_folder
from spark_rtm.services.child import Child, wait_until_ready

END_SECONDS = 60.0
NAME = "Spark"
ORDER: tuple[tuple[str, Workload], ...] = (
    ("micro-batch", "stateless"),
    ("micro-batch", "stateful"),
    ("real-time", "stateless"),
    ("real-time", "stateful"),
)
WARM_UP_SHARES = {"micro-batch": 0.4, "real-time": 0.5, BASELINE: 0.5}
"""Share of the warm-up that a case needs, unless it is the aggregation in real-time mode, which needs all of it."""


@dataclass
class SharedSession:
    """The process that runs the queries of several runs one after another."""

    folder: Path
    child: Child
    requests: int = field(default=0)

    def wait_until_started(self) -> None:
        """Wait until the session is running, so that its start does not disturb a measurement."""
        wait_until_ready(self.child, started_file(self.folder).exists, START_SECONDS)

    @contextmanager
    def engine(self, options: SparkOptions, run: Run) -> Iterator[Engine]:
        """Run the queries of one run."""
        request = request_file(self.folder, self.requests)
        self.requests += 1
        unfinished = request.with_suffix(".tmp")
        unfinished.write_text(json.dumps([asdict(options), asdict(run)], default=str))
        unfinished.rename(request)
        try:
            wait_until_ready(self.child, ready_file(run, 0).exists, START_SECONDS)
            yield Engine((self.child,), (batches_file(run, 0),))
        finally:
            stop_file(run).touch()
        wait_until_ready(self.child, stopped_file(run).exists, END_SECONDS)


@contextmanager
def shared_session() -> Iterator[SharedSession]:
    """Begin to start a session, which takes seconds, and stop it when the block ends."""
    with tempfile.TemporaryDirectory(prefix="session-", dir=run_folder()) as name:
        folder = Path(name)
        argument = {"options": asdict(tuned("real-time")), "requests": folder}
        child = start_process(NAME, argument, folder / "spark.log")
        try:
            yield SharedSession(folder, child)
        finally:
            child.stop()


def quick_cases(interval_seconds: float) -> list[Case]:
    """Return the cases of a quick run in the order in which they must run."""
    options = {"micro-batch": tuned("micro-batch"), "real-time": recommended(interval_seconds, quick=True)}
    return [*(spark_case(mode, workload, options[mode]) for mode, workload in ORDER), baseline_case()]


def in_session(session: SharedSession, case: Case) -> Case:
    """Return a case of Spark that runs in a shared session."""
    return replace(case, start=partial(session.engine, SparkOptions(**case.settings)))


def quick_traffic(case: Case, traffic: Traffic) -> Traffic:
    """Return the traffic of a case, whose warm-up is only as long as the case needs."""
    if (case.engine, case.workload) == ORDER[-1]:
        return traffic
    return replace(traffic, warm_up_seconds=traffic.warm_up_seconds * WARM_UP_SHARES[case.engine])
