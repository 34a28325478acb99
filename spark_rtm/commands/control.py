"""
Control the queries of another process: `rtm commit`, `rtm drain` and `rtm stop`.

A job opens a Unix domain socket with `listen`. Any user with access to the socket file can send commands. No TCP port
is open.
"""

from __future__ import annotations

import json
import os
import socket
import socketserver
import sys
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from spark_rtm.command_line import Argument
from spark_rtm.program import Command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

DEADLINE_SECONDS = 30.0
# A request is one line. A longer one is not from `send`.
MAX_REQUEST_BYTES = 10_000
# A busy driver may answer this long after the deadline of the command.
ANSWER_SECONDS = 10.0
SUMMARIES = {
    "commit": "end the open batch of a running query now; the query continues",
    "drain": "wait until all records in the source are processed and committed; the query continues",
    "stop": "drain and stop a running query, so a restart repeats nothing",
}


@contextmanager
def listen(spark: SparkSession, path: Path) -> Iterator[None]:
    """
    Execute commands that other processes of this user send to the socket `path`, while the block runs.

    Only this user can open the socket, which is deleted when the block ends. Raises OSError if another process already
    listens on it.
    """
    _remove_unused(path)
    old_mask = os.umask(0o177)
    try:
        address: Any = str(path)
        server = _Server(address, _Handler)
    finally:
        os.umask(old_mask)
    server.spark = spark
    thread = threading.Thread(target=server.serve_forever, name="rtm-control", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        path.unlink(missing_ok=True)


def send(path: Path, command: str, query: str | None, deadline_seconds: float) -> list[dict[str, Any]]:
    """Send a command to the job that listens at `path`, and return the result of each query."""
    request = {"command": command, "query": query, "deadline_seconds": deadline_seconds}
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(deadline_seconds + ANSWER_SECONDS)
        client.connect(str(path))
        client.sendall(json.dumps(request).encode() + b"\n")
        with client.makefile("rb") as answer:
            line = answer.readline()
    if not line:
        raise ConnectionError(
            f"the job at {path} ended before it answered; its next start continues from its checkpoint"
        )
    answers: list[dict[str, Any]] = json.loads(line)
    return answers


@dataclass(frozen=True)
class Options:
    """The options of the three commands."""

    socket: Annotated[Path, Argument("SOCKET", is_positional=True)]
    """Socket file that the job passed to `listen`."""
    query: Annotated[str | None, Argument("NAME")] = None
    """Name of the query (default: all queries of the job)."""
    deadline: Annotated[float, Argument("SECONDS")] = DEADLINE_SECONDS
    """Time after which the command gives up."""


def run(command: str, options: Options) -> int:
    """Send a command, print a line per query, and return the exit status: 1 if a query did not execute the command."""
    try:
        answers = send(options.socket, command, options.query, options.deadline)
    except OSError as error:
        problem = f"no job answers at {options.socket}: {error.strerror or error}; start the job, or correct the path"
        print(problem, file=sys.stderr)
        return 2
    for answer in answers:
        print(answer["text"], file=sys.stdout if answer["ok"] else sys.stderr)
    return 0 if all(answer["ok"] for answer in answers) else 1


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    # Where Python has no such sockets, as on Windows and in a browser, all other commands still work.
    address_family = getattr(socket, "AF_UNIX", socket.AF_INET)
    daemon_threads = True
    spark: SparkSession


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    timeout = ANSWER_SECONDS

    def handle(self) -> None:
        """Answer one request with one line."""
        try:
            request = json.loads(self.rfile.readline(MAX_REQUEST_BYTES))
            answers = _obey(self.server.spark, **request)
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            answers = [{"ok": False, "text": f"this is not a command of `rtm`: {error}"}]
        with suppress(OSError):  # the other process may not have waited for the answer
            self.wfile.write(json.dumps(answers).encode() + b"\n")


def _obey(spark: SparkSession, *, command: str, query: str | None, deadline_seconds: float) -> list[dict[str, Any]]:
    from spark_rtm.realtime.control import commit, drain, stop  # noqa: PLC0415 - the sender of a command needs no PySpark

    action = {"commit": commit, "drain": drain, "stop": stop}[command]
    active = [one for one in spark.streams.active if query in (None, one.name)]
    if not active:
        wanted = "a query" if query is None else f"the query {query!r}"
        names = ", ".join(str(one.name) for one in spark.streams.active) or "none"
        return [{"ok": False, "text": f"{wanted} does not run in this job; running queries: {names}"}]
    answers = []
    for one in active:
        try:
            batch = action(one, float(deadline_seconds))
            done = f"batch {batch} is committed" if command == "commit" else f"{command} has ended"
            answers.append({"ok": True, "text": f"{one.name}: {done}"})
        except Exception as error:  # noqa: BLE001 - the answer reports every error
            answers.append({"ok": False, "text": f"{one.name}: {error}"})
    return answers


def _remove_unused(path: Path) -> None:
    if path.is_socket():
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()


COMMANDS = [
    Command(
        name,
        summary,
        Options,
        partial(run, name),
        {f"{name} /run/clicks/rtm.sock": f"{name} all queries of the job that listens there"},
    )
    for name, summary in SUMMARIES.items()
]
