"""Start one Spark session and one Kafka broker for a run of `prove`, with the output of Spark in a file."""

import contextlib
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from spark_rtm.realtime.warm_up import MIN_INTERVAL_CONF
from spark_rtm.services.files.run_folder import new_folder
from spark_rtm.services.kafka import LocalKafka
from spark_rtm.services.local_server import running
from spark_rtm.services.spark import build_session

DEFAULT_SLOTS = 16
# Spark requires 5 s by default. The checks of state and restarts wait for the end of several batches.
MIN_INTERVAL = {MIN_INTERVAL_CONF: "1s"}
QUERY_CONTEXT_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


@dataclass(frozen=True)
class Bench:
    """What the checks run on."""

    spark: SparkSession
    kafka: str
    folder: Path
    """Folder for checkpoints and logs, which is deleted after the run."""
    log: Path | None = None
    """File with the output of Spark."""


@contextlib.contextmanager
def bench(slots: int) -> Iterator[Bench]:
    """
    Yield a session with `slots` task slots (0: the default) and a broker; end both when the block ends.

    The broker is always a local one, so hostile records never reach a real cluster.
    """
    # PySpark would print each error of a job's expressions as a JSON text of many lines.
    for name in QUERY_CONTEXT_LOGGERS:
        logging.getLogger(name).disabled = True
    folder = new_folder("prove")
    log = folder / "spark.log"
    broker = LocalKafka()
    with contextlib.ExitStack() as stack:
        # Spark writes `spark-warehouse` and relative paths of a job into the current folder.
        stack.enter_context(contextlib.chdir(folder))
        with ThreadPoolExecutor(1) as pool:
            starting = pool.submit(stack.enter_context, running(broker))
            with _stderr_in(log):
                spark = build_session("prove", slots=slots or DEFAULT_SLOTS, confs=MIN_INTERVAL)
            stack.callback(_stop, spark)
            starting.result()
        yield Bench(spark, broker.bootstrap_servers, folder, log)


def kill_spark() -> None:
    """
    Kill the JVM, so every call of PySpark fails at once.

    An interrupted call leaves its answer in the connection, and the next call would read the wrong answer.
    """
    if process := jvm():
        process.kill()


def jvm() -> subprocess.Popen[bytes] | None:
    """Return the process of the JVM that this process has started."""
    # PySpark has no public API for its process.
    return getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001


def _stop(spark: SparkSession) -> None:
    # A signal to the process group, such as that of `timeout`, also ends the JVM.
    with contextlib.suppress(Py4JError, OSError):
        spark.stop()


@contextlib.contextmanager
def _stderr_in(log: Path) -> Iterator[None]:
    """Give processes that start in this block a file as standard error."""
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
