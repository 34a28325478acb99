"""Run a query in a separate process, which the `restart` check kills like `kill -9`."""

import contextlib
import os
import pickle
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spark_rtm.prove.engine.bench import Bench, jvm, session
from spark_rtm.prove.job.runner import rows_of
from spark_rtm.prove.job.target import Job
from spark_rtm.realtime import control
from spark_rtm.realtime.queries import raise_if_failed, wait_until
from spark_rtm.services.child import Child, start_child, wait_until_ready
from spark_rtm.testing.trial import Trial

PROGRAM = f"import pathlib, sys; from {__name__} import main; main(pathlib.Path(sys.argv[1]))"
ORDER, GO, RUNNING, COMMIT = "order.pickle", "go", "running", "commit"
ERROR = re.compile(r"[\w.]+(Error|Exception): ")
START_SECONDS = 120.0
# The process starts Spark while other checks run, and then waits for the `restart` check.
WAIT_SECONDS = 3_600.0
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Order:
    """A query for the separate process, with its output topic and settings."""

    job: Job
    partitions: Mapping[str, int]
    number: int
    kafka: str
    topic: str
    sink: Mapping[str, str]
    checkpoint: Path
    interval_ms: int
    slots: int
    packages: Sequence[str]


@dataclass(frozen=True)
class OtherProcess:
    """A separate process with a Spark session that waits for `run`."""

    child: Child
    folder: Path

    def run(self) -> None:
        """Start the query in the separate process, and return when the query runs in real-time mode."""
        (self.folder / GO).touch()
        try:
            wait_until_ready(self.child, (self.folder / RUNNING).exists, START_SECONDS)
        except RuntimeError:
            self.raise_if_ended()
            raise

    def commit(self, deadline_seconds: float) -> bool:
        """End the query's batch, wait for its commit, and return True."""
        wanted = self.folder / COMMIT
        wanted.touch()

        def is_done() -> bool:
            self.raise_if_ended()
            return not wanted.exists()

        wait_until(is_done, deadline_seconds, "the query in its own process to commit a batch")
        return True

    def raise_if_ended(self) -> None:
        """Raise RuntimeError with the last error in the log if the process has exited."""
        if not self.child.is_running():
            lines = self.child.log_path.read_text(errors="replace").splitlines()
            errors = [line for line in lines if ERROR.match(line)]
            raise RuntimeError(f"the query's separate process has exited: {(errors or lines or ['?'])[-1][:300]}")

    def kill(self) -> None:
        """Kill the JVM with the driver and executor, then the Python process."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int((self.folder / RUNNING).read_text()), signal.SIGKILL)
        self.child.kill()


@contextlib.contextmanager
def other_process(bench: Bench, order: Order) -> Iterator[OtherProcess]:
    """Yield a process that starts Spark, and kill the process at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="other-process-", dir=bench.folder))
    (folder / ORDER).write_bytes(pickle.dumps(order))
    # The separate process must import the user's modules from the same folders as this process.
    paths = os.pathsep.join(path for path in sys.path if path)
    env = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder)}
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    child = start_child("the query in its own process", command, log_path=folder / "spark.log", env=env)
    try:
        yield OtherProcess(child, folder)
    finally:
        child.kill()


def main(folder: Path) -> None:
    """Start Spark, wait for `GO`, run the query, report the JVM's process id, and commit at each `COMMIT`."""
    order: Order = pickle.loads((folder / ORDER).read_bytes())
    spark = session(order.slots, order.packages)
    wait_until((folder / GO).exists, WAIT_SECONDS, "the check of restarts")
    rows = rows_of(spark, order.kafka, order.job, max(order.partitions.values()), order.number)
    path = order.checkpoint
    query = Trial(spark, order.kafka, rows, order.partitions, path.parent, order.topic, order.sink).start(
        path.name, order.interval_ms
    )
    partial, process = folder / f"{RUNNING}.partial", jvm()
    partial.write_text(str(process.pid if process else ""))
    partial.rename(folder / RUNNING)
    obeys, pause = control.obeys(query), threading.Event()
    while True:
        raise_if_failed([query])
        if (folder / COMMIT).exists():
            if obeys:
                control.commit(query)
            (folder / COMMIT).unlink()
        pause.wait(POLL_SECONDS)
