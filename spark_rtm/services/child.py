"""
Start servers as child processes that always end with this process, and wait until they are ready.

A real-time query can take minutes to report a missing broker, so callers wait until the servers are ready before they
start a query.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from spark_rtm.services.files.run_folder import run_folder

SUPERVISOR = Path(__file__).with_name("supervisor.py")
# These ports are below the ephemeral port range. Otherwise, a client that reconnects to a stopped server could be
# assigned the server's own port, and the server could not restart.
SERVER_PORTS = range(20_000, 30_000)
PROBE_PAUSE_SECONDS = 0.05
GRACE_SECONDS = 10.0
# This timeout exceeds the total time that the supervisor waits: for the child, for its group and for its descendants.
STOP_TIMEOUT_SECONDS = 2 * GRACE_SECONDS + 15.0
TAIL_LINES = 20


@dataclass(frozen=True)
class Child:
    """A started server: its name, its process id and the path of its output."""

    name: str
    pid: int
    log_path: Path
    supervisor: subprocess.Popen[bytes]

    def is_running(self) -> bool:
        """Return whether the server is still running."""
        return self.supervisor.poll() is None

    def stop(self) -> None:
        """Send the stop signal, kill the server after its grace period, and wait until it has exited."""
        self._end(b"stop")

    def kill(self) -> None:
        """Kill the server and its children immediately, and wait for their end."""
        self._end(b"kill")

    def _end(self, message: bytes) -> None:
        pipe = self.supervisor.stdin
        if pipe is not None and not pipe.closed:
            with suppress(BrokenPipeError):
                pipe.write(message)
                pipe.flush()
            with suppress(BrokenPipeError):
                pipe.close()
        self.supervisor.wait(STOP_TIMEOUT_SECONDS)


def free_ports(count: int) -> list[int]:
    """
    Return `count` distinct ports of 127.0.0.1 on which no program listens.

    Another program can still take a port first, because servers cannot inherit a bound socket. The server then exits,
    and the error contains its log.
    """
    with ExitStack() as probes:
        ports: list[int] = []
        for port in random.SystemRandom().sample(SERVER_PORTS, len(SERVER_PORTS)):
            probe = probes.enter_context(socket.socket())
            with suppress(OSError):
                probe.bind(("127.0.0.1", port))
                ports.append(port)
            if len(ports) == count:
                return ports
    raise RuntimeError(
        f"found only {len(ports)} of {count} free ports between {SERVER_PORTS[0]} and {SERVER_PORTS[-1]}; "
        "stop other servers on these ports"
    )


def open_log(path: Path) -> BinaryIO:
    """
    Open a log for appending. Other users cannot read the file.

    Raises OSError if the path is a symbolic link, because a link could redirect the output to another file.
    """
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
    Start `command` in the folder of its log. The command ends with this process, even if it is killed.

    After `stop_signal`, the command has `grace_seconds` to end before it is killed.
    `run_as` contains a user id and a group id, for servers that refuse to run as root.
    Raises RuntimeError if the command cannot be started.
    """
    options = [f"--stop-signal={int(stop_signal)}", f"--grace-seconds={grace_seconds}", f"--run-folder={run_folder()}"]
    if run_as:
        options += [f"--user={run_as[0]}", f"--group={run_as[1]}"]
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
    return Child(name, int(pid), log_path, supervisor)


def wait_until_ready(child: Child, is_ready: Callable[[], bool], deadline_seconds: float) -> None:
    """
    Call `is_ready` every 50 ms until it returns True.

    If the child exits or the deadline passes, kill the child and raise RuntimeError with the end of its log.
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
