"""Run a query in a process of its own, which the check of restarts kills in the way of `kill -9`."""

import contextlib
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from spark_rtm.prove.subjects.bench import Bench
from spark_rtm.prove.subjects.build import Origin
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services.child import Child, start_child, wait_until_ready

PROGRAM = "spark_rtm.prove.subjects.run_order"
ORDER, GO, RUNNING, COMMIT = "order.json", "go", "running", "commit"
ERROR = re.compile(r"[\w.]+(Error|Exception): ")
START_SECONDS = 120.0


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
        try:
            wait_until_ready(self.child, (self.folder / RUNNING).exists, START_SECONDS)
        except RuntimeError:
            self.raise_if_ended()
            raise

    def commit(self, deadline_seconds: float) -> bool:
        """Let the query end and commit its batch; return True when it has."""
        wanted = self.folder / COMMIT
        wanted.touch()

        def is_done() -> bool:
            self.raise_if_ended()
            return not wanted.exists()

        wait_until(is_done, deadline_seconds, "the query in its own process to commit a batch")
        return True

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
    command = [sys.executable, "-m", PROGRAM, str(folder)]
    child = start_child("the query in its own process", command, log_path=folder / "spark.log", env=env)
    try:
        yield OtherProcess(child, folder)
    finally:
        child.kill()
