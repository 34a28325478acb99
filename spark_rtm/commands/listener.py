"""The server side of `rtm commit`, `rtm drain` and `rtm stop`: a private Unix domain socket in the job's process."""

from __future__ import annotations

import errno
import json
import socket
import socketserver
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

NAMES = ("commit", "drain", "stop")
MAX_DEADLINE_SECONDS = 86_400.0
# A request is one line. `rtm` never sends a longer line.
MAX_REQUEST_BYTES = 10_000
MAX_REQUEST_SECONDS = 10.0
MAX_TEXT = 2_000
"""Maximum length of a query's result in characters. An exception message may contain a whole record."""
MAX_AT_ONCE = 8
"""Maximum number of queries that execute a command at the same time."""
Answer = dict[str, Any]


@contextmanager
def listen(spark: SparkSession, path: Path) -> Iterator[None]:
    """
    While the block runs, execute commands that this user's other processes send to the socket `path`.

    Only this user can open the socket, which is deleted when the block ends. Raises OSError if another process already
    listens on the socket.
    """
    _remove_unused(path)
    try:
        server = _Server(spark, path)
    except OSError as error:  # Python's error message lacks the path
        raise OSError(error.errno or errno.EINVAL, error.strerror or str(error), str(path)) from error
    own = path.stat().st_ino
    thread = threading.Thread(target=server.serve_forever, name="rtm-control", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        with suppress(FileNotFoundError):
            if path.stat().st_ino == own:  # another job may have replaced the socket
                path.unlink()


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    # Python lacks Unix domain sockets on Windows and in browsers, where the other commands must still work.
    address_family = getattr(socket, "AF_UNIX", socket.AF_INET)
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark, self.path = spark, path
        address: Any = str(path)
        super().__init__(address, _Handler)

    def server_activate(self) -> None:
        """Make the socket private before anyone can connect."""
        self.path.chmod(0o600)
        super().server_activate()


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        """Read one request and send a one-line reply."""
        try:
            answers = _obey(self.server.spark, **_checked(json.loads(_line(self.request))))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            answers = [_answer(f"this is not a command of `rtm`: {error}")]
        with suppress(OSError):  # the other process may have disconnected before the reply
            self.request.sendall(json.dumps(answers).encode() + b"\n")


def _line(connection: socket.socket) -> bytes:
    """Return the received line. Raise ValueError or OSError if the line is too long, too slow or incomplete."""
    received, end = b"", time.monotonic() + MAX_REQUEST_SECONDS
    while not received.endswith(b"\n"):
        connection.settimeout(max(end - time.monotonic(), 0.001))
        part = connection.recv(MAX_REQUEST_BYTES)
        received += part
        if not part or len(received) > MAX_REQUEST_BYTES:
            raise ValueError(f"a request is a single line of at most {MAX_REQUEST_BYTES:,} bytes")
    return received


def _checked(request: Any) -> dict[str, Any]:
    """Return the validated arguments of a request, or raise ValueError."""
    expected = {"command", "query", "deadline_seconds"}
    if not isinstance(request, dict) or request.keys() != expected:
        raise ValueError(f"it does not have exactly the fields {', '.join(sorted(expected))}")
    if request["command"] not in NAMES:
        raise ValueError(f"the command is not one of {', '.join(NAMES)}")
    if not isinstance(request["query"], str | None):
        raise TypeError("the query name is not a string")
    deadline = request["deadline_seconds"]
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline <= MAX_DEADLINE_SECONDS:
        raise ValueError(f"the deadline is not a number of seconds up to {MAX_DEADLINE_SECONDS:,.0f}")
    return request


def _obey(spark: SparkSession, *, command: str, query: str | None, deadline_seconds: float) -> list[Answer]:
    """Execute a command on several queries concurrently, and return each query's result before the shared deadline."""
    end = time.monotonic() + deadline_seconds
    active = [one for one in spark.streams.active if query in (None, one.name)]
    if not active:
        problem = "no query is running" if query is None else f"the query {query!r} is not running"
        names = ", ".join(str(one.name) for one in spark.streams.active) or "none"
        return [_answer(f"{problem} in this job; running queries: {names}")]
    with ThreadPoolExecutor(MAX_AT_ONCE, "rtm-command") as threads:
        return list(threads.map(lambda one: _executed(one, command, end, deadline_seconds), active))


def _executed(query: StreamingQuery, command: str, end: float, deadline_seconds: float) -> Answer:
    from spark_rtm.realtime import control  # noqa: PLC0415 - clients need no PySpark

    left = end - time.monotonic()
    if left <= 0:
        problem = f"{command} did not start within {deadline_seconds:g} s, the time limit for all queries"
        return _answer(f"{query.name}: {problem}, so it is still running; repeat the command with a longer --deadline")
    try:
        if command == "commit":
            done = f"batch {control.commit(query, left)} is committed"
        elif command == "drain":
            control.drain(query, left)
            done = "drain has ended"
        else:
            unread = control.stop(query, left)
            done = "stop has ended" + (f"; {unread} records are unread, and a restart reads them" if unread else "")
    except Exception as error:  # noqa: BLE001 - the reply reports every error
        return _answer(f"{query.name}: {error}")
    return _answer(f"{query.name}: {done}", ok=True)


def _answer(text: str, *, ok: bool = False) -> Answer:
    return {"ok": ok, "text": text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} ..."}


def _remove_unused(path: Path) -> None:
    if path.is_socket():
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
