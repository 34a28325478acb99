"""Start Kafka and Spark for the checks, in this process or in a separate one that a check kills like `kill -9`."""

import contextlib
import logging
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from spark_rtm.prove.job.runner import rows_of
from spark_rtm.prove.job.target import Job
from spark_rtm.realtime import control
from spark_rtm.realtime.queries import raise_if_failed, wait_until
from spark_rtm.realtime.warm_up import MIN_INTERVAL_CONF
from spark_rtm.services.child import Child, running, start_child, wait_until_ready
from spark_rtm.services.kafka import LocalKafka
from spark_rtm.services.packages import IVY_DIR, avro_jars, is_fetched, package_jars
from spark_rtm.services.run_folder import new_folder
from spark_rtm.services.spark import build_session
from spark_rtm.testing.trial import Trial

DEFAULT_SLOTS = 16
# Spark requires 5 s by default. The `state` and `restart` checks wait for the end of several batches.
MIN_INTERVAL = {MIN_INTERVAL_CONF: "1s"}
# By default, an error such as StackOverflowError ends the task's JVM, which in local mode is also the driver.
SURVIVE_ERRORS = {"spark.executor.killOnFatalError.depth": "0"}
CANCEL_SECONDS = 5.0
T = TypeVar("T")
QUERY_CONTEXT_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


@dataclass(frozen=True)
class Bench:
    """The session, broker and working folder for the checks."""

    spark: SparkSession
    kafka: str
    folder: Path
    log: Path | None = None
    packages: tuple[str, ...] = ()


@contextlib.contextmanager
def bench(slots: int, packages: Sequence[str] = ()) -> Iterator[Bench]:
    """
    Yield a session with at least `slots` task slots and a broker, and stop both when the block ends.

    The broker is always local, so hostile records never reach a real cluster.
    """
    # Otherwise, PySpark prints each expression error in a job as many lines of JSON.
    for name in QUERY_CONTEXT_LOGGERS:
        logging.getLogger(name).disabled = True
    package_jars(packages)
    folder = new_folder("prove")
    log = folder / "spark.log"
    broker = LocalKafka()
    with contextlib.ExitStack() as stack:
        # Spark writes `spark-warehouse` and a job's relative paths into the current folder.
        stack.enter_context(contextlib.chdir(folder))
        with ThreadPoolExecutor(1) as pool:
            starting = pool.submit(stack.enter_context, running(broker))
            with _stderr_in(log):
                spark = session(slots, packages)
            stack.callback(_stop, spark)
            starting.result()
        yield Bench(spark, broker.bootstrap_servers, folder, log, tuple(packages))


def session(slots: int, packages: Sequence[str] = ()) -> SparkSession:
    """Return a session with at least `slots` task slots, the given packages, and the Avro functions if cached."""
    jars = [*(avro_jars() if is_fetched(IVY_DIR / "avro.xml") else ()), *package_jars(packages)]
    confs = {**MIN_INTERVAL, **SURVIVE_ERRORS, "spark.jars": ",".join(map(str, jars))}
    return build_session("prove", slots=max(slots, DEFAULT_SLOTS), confs=confs)


def in_time(rows: DataFrame, action: Callable[[], T], seconds: float) -> T:
    """
    Return the result of an action on rows, or cancel the action and raise TimeoutError after `seconds`.

    Spark cannot interrupt an expression inside a record, so a canceled action's thread may keep running.
    """
    context, group = rows.sparkSession.sparkContext, f"prove-{uuid.uuid4().hex[:8]}"
    done, failed = list[T](), list[Exception]()

    def run() -> None:
        try:
            context.setJobGroup(group, "prove", interruptOnCancel=True)
            done.append(action())
        except Exception as error:  # noqa: BLE001 - the caller's thread raises it
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        context.cancelJobGroup(group)
        thread.join(CANCEL_SECONDS)
        raise TimeoutError(
            f"some records took more than {seconds:g} s; look for a slow expression, such as a regular expression"
        )
    if failed:
        raise failed[0]
    return done[0]


def jvm() -> subprocess.Popen[bytes] | None:
    """Return the JVM process that PySpark has started, or None."""
    # PySpark has no public API for the JVM process.
    return getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001


def _stop(spark: SparkSession) -> None:
    # A signal to the process group, for example from `timeout`, also ends the JVM. An interrupted call leaves its
    # response in the connection, so any error can follow.
    with contextlib.suppress(Exception):
        spark.stop()


@contextlib.contextmanager
def _stderr_in(log: Path) -> Iterator[None]:
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


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
