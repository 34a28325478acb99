"""Run an object with its own Spark session in a separate process, which a check can kill like `kill -9`."""

import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_rtm.prove.engine import session
from spark_rtm.prove.job import runner
from spark_rtm.realtime.queries import QueryFailedError
from spark_rtm.services.child import Child, start_child, wait_until_ready

PROGRAM = f"import pathlib, sys; from {__name__} import main; main(pathlib.Path(sys.argv[1]))"
ORDER, LOG, PORT = "order.pickle", "spark.log", "port"
START_SECONDS = 120.0

Make = Callable[[SparkSession, Path], Callable[..., Any]]
"""
Creates an object for a session and for the folder of the object's process, and returns a function.

The function takes the name of a method of the object and the method's arguments, and calls the method. A `Make` can be
pickled.
"""


@dataclass
class OtherProcess:
    """A process with Spark and an object, whose methods this process can call."""

    child: Child
    folder: Path
    job: str
    """The path of the job that the object runs, for error messages."""
    secret: bytes
    connection: Connection | None = field(default=None, init=False)

    def connect(self) -> None:
        """Wait until Spark runs in the process."""
        port = self.folder / PORT
        wait_until_ready(self.child, port.exists, START_SECONDS)
        self.connection = Client(("127.0.0.1", int(port.read_text())), authkey=self.secret)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the object, and raise the error that the method raises in the other process."""
        if self.connection is None:
            self.connect()
        try:
            self.connection.send((name, arguments))  # type: ignore[union-attr]
            found = self.connection.recv()  # type: ignore[union-attr]
        except (EOFError, OSError) as error:
            log, status = self.child.log_path.read_text(errors="replace"), self.child.supervisor.wait()
            raise runner.JobLostError(runner.lost(log, self.job, status)) from error
        if isinstance(found, Exception):
            raise found
        return found

    def kill(self) -> None:
        """Kill the process and its JVM."""
        self.child.kill()


def other_process(make: Make, job: Path, slots: int, packages: Sequence[str], parent: Path) -> OtherProcess:
    """Start a process with Spark and an object of `make`. The caller must kill the process."""
    folder, secret = Path(tempfile.mkdtemp(prefix="other-process-", dir=parent)), os.urandom(16)
    (folder / ORDER).write_bytes(pickle.dumps((make, slots, packages, secret)))
    # The process must import the user's modules from the same folders as this process.
    paths = os.pathsep.join(path for path in sys.path if path)
    env = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder)}
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    child = start_child(f"Spark for {job.name}", command, log_path=folder / LOG, env=env)
    return OtherProcess(child, folder, str(job), secret)


def main(folder: Path) -> None:
    """Start Spark, create the object, and call its methods on request of the parent process."""
    make, slots, packages, secret = pickle.loads((folder / ORDER).read_bytes())
    runner.limit_seconds = runner.JOB_SECONDS
    call = make(session(slots, packages), folder)
    with Listener(("127.0.0.1", 0), authkey=secret) as listener:
        partial = folder / f"{PORT}.partial"
        partial.write_text(str(listener.address[1]))
        partial.rename(folder / PORT)
        with listener.accept() as connection, suppress(EOFError):
            while True:
                connection.send(_result(call, *connection.recv()))


def _result(call: Callable[..., Any], name: str, arguments: Sequence[Any]) -> Any:
    try:
        return call(name, *arguments)
    except QueryFailedError as error:  # which pickle cannot restore
        return RuntimeError(str(error))
    except Exception as error:  # noqa: BLE001 - the other process raises it
        return error if isinstance(error, RuntimeError | ValueError) else RuntimeError(repr(error))
