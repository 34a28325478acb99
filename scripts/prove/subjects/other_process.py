"""Run a query in a process of its own, which the check of restarts kills in the way of `kill -9`."""

import contextlib
import json
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from examples.realtime.queries import raise_if_failed, wait_until
from examples.services.child import Child, start_child, wait_until_ready
from examples.services.spark import build_session
from examples.testing.trial import Trial
from scripts.prove.subjects.bench import DEFAULT_SLOTS, MIN_INTERVAL, Bench, jvm
from scripts.prove.subjects.build import Origin, rows_of
from scripts.prove.subjects.target import load

ORDER, GO, RUNNING = "order.json", "go", "running"
ERROR = re.compile(r"[\w.]+(Error|Exception): ")
START_SECONDS = 120.0
# The process starts Spark while other checks run, and then waits for its turn.
WAIT_SECONDS = 3_600.0


@dataclass(frozen=True)
class Order:
    """The query that the other process runs, and where."""

    origin: Origin
    kafka: str
    target: str
    """The topic that receives the output."""
    checkpoints: str
    checkpoint: str
    interval_ms: int
    slots: int


@dataclass(frozen=True)
class OtherProcess:
    """A process that has Spark and waits for `run`."""

    child: Child
    folder: Path

    def run(self) -> None:
        """Let the process start its query, and return when the query runs in real-time mode."""
        (self.folder / GO).touch()
        wait_until_ready(self.child, (self.folder / RUNNING).exists, START_SECONDS)

    def raise_if_ended(self) -> None:
        """Raise RuntimeError with the last error of the log if the process has ended by itself."""
        if not self.child.is_running():
            lines = self.child.log_path.read_text(errors="replace").splitlines()
            errors = [line for line in lines if ERROR.match(line)]
            raise RuntimeError(f"the query in its own process has ended: {(errors or lines or ['?'])[-1][:300]}")

    def kill(self) -> None:
        """Kill the JVM, which contains driver and executor, with SIGKILL, and then its Python process."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int((self.folder / RUNNING).read_text()), signal.SIGKILL)
        self.child.kill()


@contextlib.contextmanager
def other_process(bench: Bench, order: Order) -> Iterator[OtherProcess]:
    """Yield a process that starts Spark; kill it when the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="other-process-", dir=bench.folder))
    (folder / ORDER).write_text(json.dumps(asdict(order)))
    # The process must find the modules of the user where this process has found them.
    paths = os.pathsep.join(path for path in sys.path if path)
    env = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder)}
    command = [sys.executable, "-m", __name__, str(folder)]
    child = start_child("the query in its own process", command, log_path=folder / "spark.log", env=env)
    try:
        yield OtherProcess(child, folder)
    finally:
        child.kill()


def main(folder: Path) -> None:
    """Start Spark, wait for `GO`, run the query, and report the process id of the JVM."""
    content = json.loads((folder / ORDER).read_text())
    order = Order(**{**content, "origin": Origin(**content["origin"])})
    spark = build_session("prove", slots=order.slots or DEFAULT_SLOTS, confs=MIN_INTERVAL)
    target = load(order.origin.target)
    wait_until((folder / GO).exists, WAIT_SECONDS, "the check of restarts")
    rows = rows_of(spark, order.kafka, target, order.origin)
    partitions: Mapping[str, int] = order.origin.partitions
    trial = Trial(spark, order.kafka, rows, partitions, Path(order.checkpoints), order.target)
    query = trial.start(order.checkpoint, order.interval_ms)
    partial = folder / f"{RUNNING}.partial"
    process = jvm()
    partial.write_text(str(process.pid if process else ""))
    partial.rename(folder / RUNNING)
    while True:
        raise_if_failed([query])
        threading.Event().wait(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
