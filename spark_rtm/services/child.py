"""Start servers as child processes that always exit together with this process, and wait until they are ready."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO, ClassVar, TypeVar

from spark_rtm.services.folders import run_folder

SUPERVISOR = Path(__file__).with_name("supervisor.py")
# These ports are below the ephemeral port range. Otherwise, a client that reconnects to a stopped server could be
# assigned the server's own port, and the server could not restart.
SERVER_PORTS = range(20_000, 30_000)
PROBE_PAUSE_SECONDS = 0.05
GRACE_SECONDS = 10.0
# The supervisor waits one grace period for the child, another for its process group, and 10 s for other descendants.
STOP_SLACK_SECONDS = 15.0
TAIL_LINES = 20


@dataclass(frozen=True)
class Child:
    """A started server process, with its log file and grace period."""

    name: str
    pid: int
    log_path: Path
    grace_seconds: float
    supervisor: subprocess.Popen[bytes]

    def is_running(self) -> bool:
        """Return whether the server is still running."""
        return self.supervisor.poll() is None

    def stop(self) -> None:
        """Send the stop signal, kill the server after its grace period, and wait until it has exited."""
        self._end(b"stop")

    def kill(self) -> None:
        """Kill the server and its children immediately, and wait until they have exited."""
        self._end(b"kill")

    def _end(self, message: bytes) -> None:
        pipe = self.supervisor.stdin
        if pipe is not None and not pipe.closed:
            with suppress(BrokenPipeError), pipe:
                pipe.write(message)
        self.supervisor.wait(2 * self.grace_seconds + STOP_SLACK_SECONDS)


def free_ports(count: int) -> list[int]:
    """Return `count` distinct ports of 127.0.0.1 on which no program is listening."""
    candidates = random.SystemRandom().sample(SERVER_PORTS, len(SERVER_PORTS))
    ports = list(islice(filter(_is_free, candidates), count))
    if len(ports) < count:
        raise RuntimeError(
            f"found only {len(ports)} of {count} free ports between {SERVER_PORTS[0]} and {SERVER_PORTS[-1]}; "
            "stop other servers on these ports"
        )
    return ports


def _is_free(port: int) -> bool:
    with socket.socket() as probe, suppress(OSError):
        probe.bind(("127.0.0.1", port))
        return True
    return False


def open_log(path: Path) -> BinaryIO:
    """Open a private log file for appending. Raise OSError if the path is a symbolic link."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600), "ab")


def log_tail(log_path: Path) -> str:
    """Return the last 20 lines of a log, indented for use in an error message."""
    lines = log_path.read_text(errors="replace").splitlines() if log_path.exists() else []
    return "\n".join(f"  {line}" for line in lines[-TAIL_LINES:]) or "  (empty)"


def start_child(
    name: str,
    command: Sequence[str],
    *,
    log_path: Path,
    env: Mapping[str, str] | None = None,
    stop_signal: signal.Signals = signal.SIGTERM,
    grace_seconds: float = GRACE_SECONDS,
    run_as: tuple[int, int] | None = None,
) -> Child:
    """
    Start `command` in its log's folder. The command exits when this process exits or is killed.

    After `stop_signal`, the command has `grace_seconds` to exit before it is killed.
    `run_as` contains a user id and a group id, for servers that do not run as root.
    Raises RuntimeError if the command cannot be started.
    """
    options = map(str, (run_folder(), int(stop_signal), grace_seconds, *(run_as or ())))
    with open_log(log_path) as log:
        supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SUPERVISOR), *options, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=log_path.parent,
            env=env,
            # A separate session does not receive the terminal's Ctrl-C, so servers can stop after their clients.
            start_new_session=True,
        )
    if supervisor.stdout is None:
        raise AssertionError("internal error: the supervisor has no pipe for its output")
    with supervisor.stdout as output:
        pid = output.readline()
    if not pid:
        supervisor.wait()
        raise RuntimeError(f"cannot start {name}. Last lines of {log_path}:\n{log_tail(log_path)}")
    return Child(name, int(pid), log_path, grace_seconds, supervisor)


def wait_until_ready(child: Child, is_ready: Callable[[], bool], deadline_seconds: float) -> None:
    """
    Call `is_ready` every 50 ms until the call returns True.

    If the child exits or the deadline passes, kill the child and raise RuntimeError with the end of the child's log.
    """
    deadline = time.monotonic() + deadline_seconds
    pause = threading.Event()
    try:
        while child.is_running() and time.monotonic() < deadline:
            if is_ready():
                return
            pause.wait(PROBE_PAUSE_SECONDS)
    except BaseException:
        child.kill()
        raise
    problem = f"was not ready after {deadline_seconds:g} s" if child.is_running() else "exited during startup"
    child.kill()
    raise RuntimeError(
        f"{child.name} {problem}; its log shows the reason. Last lines of {child.log_path}:\n{log_tail(child.log_path)}"
    )


@dataclass
class LocalServer(ABC):
    """A server on 127.0.0.1. Its address and its data in `folder` survive `stop` and `kill`, but not `remove`."""

    folder: Path
    child: Child | None = field(default=None, init=False, repr=False)
    log_name: ClassVar[str]

    @property
    def log_path(self) -> Path:
        """Path of the server's output."""
        return self.folder / self.log_name

    @abstractmethod
    def start(self) -> None:
        """Start the server and wait until it responds. If it does not, raise RuntimeError with the end of its log."""

    def stop(self) -> None:
        """Shut the server down cleanly. Do nothing if it is not running."""
        if self.child:
            self.child.stop()

    def kill(self) -> None:
        """Kill the server like `kill -9`. Do nothing if it is not running."""
        if self.child:
            self.child.kill()

    def remove(self) -> None:
        """Stop the server and delete its data."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


ServerT = TypeVar("ServerT", bound=LocalServer)


@contextmanager
def running(server: ServerT) -> Iterator[ServerT]:
    """Start a server, yield the server, and remove it at the end of the block or after a failed start."""
    try:
        server.start()
        yield server
    finally:
        server.remove()
