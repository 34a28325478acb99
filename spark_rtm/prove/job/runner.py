"""
Run an unmodified job until it waits for its queries, and record its queries instead of starting them.

The checks start the recorded queries later.
"""

import builtins
import contextlib
import faulthandler
import io
import logging
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaMember
from pyspark import SparkConf
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.conf import RuntimeConfig
from pyspark.sql.streaming.query import StreamingQueryManager

from spark_rtm.prove.job.placeholders import (
    Dbutils,
    JobEndedError,
    databricks_modules,
    display,
    end_job,
    kept,
    notebook_names,
    open_of,
    placed,
    placeholders_for,
)
from spark_rtm.prove.job.recorders import (
    BROKER_OPTION,
    MAX_SLEEPS,
    Recording,
    StreamReader,
    StreamWriter,
    recorder,
)
from spark_rtm.prove.job.settings import FLAG, apply, conf_of, flag_of, own_shuffles
from spark_rtm.prove.job.tables import TableReader, TableWriter, guarded, to_kafka
from spark_rtm.prove.job.target import RUN, Job, code_of, function_of, package_of, roots_of
from spark_rtm.realtime import exactly_once
from spark_rtm.testing.trial import SINK

SERVERS = "KAFKA_BOOTSTRAP_SERVERS"
JOB_SECONDS = 300.0
limit_seconds = 0.0
"""Time limit for a job in seconds, after which the process ends. The child process of `rtm prove` sets this limit."""
DELETIONS = ((os, "remove"), (os, "unlink"), (shutil, "rmtree"))
ABSENT = object()
ENGINES = ("pyspark", "dlt", "dp")
"""Engine modules, which placeholders cannot replace."""
CANNOT = "prove could not run this"


class JobLostError(RuntimeError):
    """Raised if a job fails, or ends before it waits for its queries."""


def rows_of(spark: SparkSession, kafka: str, job: Job, partitions: int, number: int) -> DataFrame:
    """Return the Kafka sink rows of a job's query `number`."""
    recording = Recording(spark.newSession(), kafka, job, partitions)
    record(recording)
    return recording.caught[number].rows


def record(recording: Recording) -> None:
    """
    Run the job, and store its sources and queries in `recording`.

    If a module is missing, the job runs again with a placeholder.
    """
    while True:
        try:
            with placeholders_for(recording.missing):
                _run(recording)
        except ModuleNotFoundError as error:
            name = (error.name or "").partition(".")[0]
            if name in {"", *ENGINES, *recording.missing}:
                raise
            recording.forget()
            recording.missing[name] = recording.line_of(error)
        else:
            return


def _run(recording: Recording) -> None:
    path = recording.path
    code = compile("" if recording.job.function else code_of(path), str(path), "exec")
    apply(recording, {FLAG: "true", **recording.job.confs})
    names = notebook_names(recording.spark, dbutils := Dbutils(end_job))
    program = {"__name__": "__main__", "__file__": str(path), "__builtins__": builtins, "__package__": package_of(path)}
    names |= {**program, RUN: partial(_run_notebook, names, dbutils)}
    sys.dont_write_bytecode = True
    try:
        with (
            replaced(recording),
            _as_program(recording),
            databricks_modules(names),
            contextlib.suppress(JobEndedError),
            contextlib.nullcontext() if recording.job.function else own_shuffles(recording),
            _limited(),
        ):
            if recording.job.function:
                start_function(recording)
            else:
                exec(code, names)
    except SystemExit as error:
        if error.code:
            raise JobLostError(
                f"{path} ended with status {error.code!r} before it waited for a query; a job gets its arguments after "
                f"`--`, for example `prove {path.name} -- --brokers x`"
            ) from error


def start_function(recording: Recording) -> None:
    """Start a query on the rows that a function returns, like a job."""
    spark, job = recording.spark, recording.job
    (_, stream), *tables = job.topics.items()
    options = {BROKER_OPTION: recording.kafka, "includeHeaders": "true"}
    rows = function_of(job)(
        spark.readStream.format("kafka").options(**options, subscribe=stream).load(),
        **{name: spark.read.format("kafka").options(**options, subscribe=topic).load() for name, topic in tables},
    )
    if not isinstance(rows, DataFrame):
        raise TypeError(f"{job.function} returned {type(rows).__name__}; return a DataFrame of Kafka sink rows")
    writer = rows.writeStream.format("kafka").options(**SINK).outputMode("update")
    writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload]


def _run_notebook(names: dict[str, Any], dbutils: Dbutils, path: str, line: int, arguments: str) -> None:
    """Run the notebook that `%run ./other $name="value"` calls, with the calling notebook's variables."""
    other, _, values = arguments.strip().partition(" ")
    base = Path(path).parent / other.strip("\"'")
    found = next(
        (name for name in (base, *(base.with_name(base.name + s) for s in (".py", ".ipynb"))) if name.is_file()), None
    )
    if not found:
        raise JobLostError(
            f"{path}:{line}: %run {other}: {base}.py and {base}.ipynb do not exist; export the notebook to this place"
        )
    dbutils.set_arguments(values)
    exec(compile(code_of(found), str(found), "exec"), names)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """End this process with a traceback if the block takes too long. The job's code cannot prevent the exit."""
    if limit_seconds:
        faulthandler.dump_traceback_later(limit_seconds, exit=True, file=2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@contextlib.contextmanager
def _as_program(recording: Recording) -> Iterator[None]:
    job, log = recording.job, logging.getLogger()
    handlers, level, variables = log.handlers[:], log.level, os.environ.copy()
    # The job's sources and sinks use the local broker in any case.
    os.environ.setdefault(SERVERS, recording.kafka)
    folders = [str(folder) for folder in roots_of(job)]
    try:
        with (
            attribute(sys, "argv", [str(job.path), *job.arguments]),
            attribute(sys, "path", [*folders, *sys.path]),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            yield
    finally:
        log.handlers[:] = handlers
        log.setLevel(level)
        os.environ.clear()
        os.environ.update(variables)


@contextlib.contextmanager
def replaced(recording: Recording) -> Iterator[None]:
    """Replace parts of PySpark and Python, so that a job's code can reach only the local broker."""
    session, frame = type(recording.spark), type(recording.spark.range(0))
    roots = roots_of(recording.job)
    parts: list[tuple[Any, str, Any]] = [
        (session, "readStream", recorder(StreamReader, recording)),
        (session, "read", recorder(TableReader, recording)),
        (session, "stop", end_job),
        (session.Builder, "getOrCreate", lambda builder: apply(recording, builder._options)),  # noqa: SLF001 - not public
        (frame, "writeStream", recorder(StreamWriter, recording)),
        (frame, "write", recorder(TableWriter, recording)),
        (exactly_once, "to_kafka", to_kafka),
        (RuntimeConfig, "get", conf_of(recording, RuntimeConfig.get)),
        (SparkConf, "get", flag_of(SparkConf.get)),
        (time, "sleep", _sleep_of(recording, time.sleep)),
        (frame, "display", display),
        (builtins, "open", open_of(roots, builtins.open)),
        (io, "open", open_of(roots, io.open)),
        *((os, name, placed(roots, getattr(os, name))) for name in ("stat", "listdir")),
        *((owner, name, kept(roots, getattr(owner, name))) for owner, name in DELETIONS),
        (StreamingQueryManager, "awaitAnyTermination", end_job),
    ]
    if recording.static is not None:
        parts.append((frame, "isStreaming", property(lambda _frame: True)))
    if not recording.job.side_effects:
        parts.append((JavaMember, "__call__", guarded(recording, JavaMember.__call__)))
    with contextlib.ExitStack() as stack:
        for part in parts:
            stack.enter_context(attribute(*part))
        yield


@contextlib.contextmanager
def attribute(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an object's attribute within the block."""
    own = vars(owner).get(name, ABSENT)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own is ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, own)


def _sleep_of(recording: Recording, sleep: Callable[[float], None]) -> Callable[[float], None]:
    """Return a `time.sleep` that ends a job if the job waits for its queries in a loop."""
    main = threading.get_ident()

    def rest(seconds: float) -> None:
        caller = sys._getframe(1)  # noqa: SLF001
        package = str(caller.f_globals.get("__name__", "")).partition(".")[0]
        if not recording.caught or threading.get_ident() != main or package in {"pyspark", "py4j"}:
            sleep(seconds)
            return
        place = (caller.f_code.co_filename, caller.f_lineno)
        recording.sleeps[place] = recording.sleeps.get(place, 0) + 1
        if recording.sleeps[place] > MAX_SLEEPS:
            end_job()

    return rest


def lost(log: str, target: str, status: int) -> str:
    """Return why the child process ended without a result. `log` is the child's output."""
    lines = [line for line in log.splitlines() if line.strip()]
    if re.search(r"^Timeout \(\d+:\d+:\d+", log, re.MULTILINE):
        found = re.search(rf'File "[^"]*{re.escape(Path(target).name)}", line (\d+)', log)
        place = f"{target}:{found[1]}" if found else target
        what = f"was still running after {JOB_SECONDS:g} s and did not wait for a query"
        return f"{place}: the job {what}; prove the function that builds the query"
    last = f" ({lines[-1][:300]})" if lines else ""
    return f"{target} ended the process of prove with status {status}{last}; call sys.exit, not os._exit"
