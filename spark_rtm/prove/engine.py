"""Start Kafka and Spark for the checks."""

import contextlib
import logging
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from spark_rtm.realtime.warm_up import MIN_INTERVAL_CONF
from spark_rtm.services.child import running
from spark_rtm.services.folders import new_folder
from spark_rtm.services.kafka import LocalKafka
from spark_rtm.services.packages import IVY_DIR, avro_jars, is_fetched, package_jars
from spark_rtm.services.spark import build_session

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
