"""
Run an unmodified job until it would wait for its queries, and catch the queries that it starts.

Nothing that the job starts runs until the checks start it.
"""

import builtins
import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQueryManager

from spark_rtm.prove.subjects.batch_writers import TableCreator, TableWriter
from spark_rtm.prove.subjects.placeholders import Dbutils
from spark_rtm.prove.subjects.recorders import (
    JobEndedError,
    Recording,
    StreamReader,
    StreamWriter,
    TableReader,
    end_job,
    recorder,
)
from spark_rtm.prove.subjects.target import TargetError

SERVERS = "KAFKA_BOOTSTRAP_SERVERS"


def record(recording: Recording) -> None:
    """Run the job in this process, and note in `recording` what it reads and starts."""
    path = recording.path
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(path), "__builtins__": builtins}
    names |= {"spark": recording.spark, "sc": recording.spark.sparkContext, "dbutils": Dbutils()}
    names |= {"display": lambda *_, **__: None, "displayHTML": lambda *_, **__: None}
    sys.dont_write_bytecode = True
    with _replaced(recording), _as_program(path), _named(recording.kafka), contextlib.suppress(JobEndedError):
        try:
            exec(code, names)
        except SystemExit as error:
            if error.code:
                raise TargetError(f"{path} ended with status {error.code!r} before it waited for a query") from error


@contextlib.contextmanager
def _as_program(path: Path) -> Iterator[None]:
    """Give the job the arguments, the import path and the output of a program."""
    before, folder = sys.argv, str(path.parent)
    sys.argv = [str(path)]
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        sys.argv = before
        sys.path.remove(folder)


@contextlib.contextmanager
def _named(kafka: str) -> Iterator[None]:
    """Name a broker in the environment of the job; its sources and sinks use the broker of `prove` in any case."""
    if SERVERS in os.environ:
        yield
        return
    os.environ[SERVERS] = kafka
    try:
        yield
    finally:
        del os.environ[SERVERS]


@contextlib.contextmanager
def _replaced(recording: Recording) -> Iterator[None]:
    """Replace the entry points of PySpark for the job, and restore them afterwards."""
    session, frame = type(recording.spark), type(recording.spark.range(0))
    replaced: list[tuple[type, str, Any]] = [
        (session, "readStream", recorder(StreamReader, recording)),
        (session, "read", recorder(TableReader, recording)),
        (session, "stop", end_job),
        (session.Builder, "getOrCreate", lambda builder: _configured(recording.spark, builder)),
        (frame, "writeStream", recorder(StreamWriter, recording)),
        (frame, "write", recorder(TableWriter, recording)),
        (StreamingQueryManager, "awaitAnyTermination", end_job),
    ]
    if not recording.side_effects:
        replaced.append((frame, "writeTo", lambda _frame, table: TableCreator(recording, table)))
    replaced = [(_definer(owner, name), name, value) for owner, name, value in replaced]
    kept = [(owner, name, vars(owner)[name]) for owner, name, _ in replaced]
    try:
        for owner, name, value in replaced:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in kept:
            setattr(owner, name, value)


def _configured(session: SparkSession, builder: SparkSession.Builder) -> SparkSession:
    """Return the session of `prove` with the settings of the job that a running session accepts."""
    for name, value in builder._options.items():  # noqa: SLF001 - the builder has no public getter
        with contextlib.suppress(PySparkException):
            session.conf.set(name, value)
    return session


def _definer(owner: type, name: str) -> type:
    return next(base for base in owner.__mro__ if name in vars(base))
