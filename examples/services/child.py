"""
Start servers as child processes that surely end with this process, and wait until they answer.

A command and a probe arrive, a running child leaves, or an error with the end of its log.
Real-time queries do not notice an absent broker for minutes, so readiness is asked by protocol before a query starts.
"""

import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

SUPERVISOR = Path(__file__).with_name("supervisor.py")
# Below the ports that systems give to outgoing connections: while a server is down, the clients that try to reach it
# would else now and then be given its port themselves, and it could not start again.
SERVER_PORTS = range(20_000, 30_000)
PROBE_PAUSE_SECONDS = 0.05
GRACE_SECONDS = 10.0
# Longer than the supervisor itself waits: for the child to end, then for the child's own children.
STOP_SECONDS = GRACE_SECONDS + 15.0
TAIL_LINES = 20


class Server(Protocol):
    """A local server with data of its own, such as `LocalKafka`."""

    def start(self) -> None:
        """Return when it answers."""

    def remove(self) -> None:
        """Stop it and delete its data."""


S = TypeVar("S", bound=Server)


@contextmanager
def running(server: S) -> Iterator[S]:
    """Start a server and yield it; remove it when the block ends, also when it does not start."""
    try:
        server.start()
        yield server
    finally:
        server.remove()


@dataclass(frozen=True)
class Child:
    """A running server: its name in messages, its process id and where its output goes."""

    name: str
    pid: int
    log_path: Path
    supervisor: subprocess.Popen[bytes]

    def is_running(self) -> bool:
        """Tell whether the server has not ended yet."""
        return self.supervisor.poll() is None

    def stop(self) -> None:
        """End the server in its own orderly way, or by force after its grace; return when it is gone."""
        self._end(b"")

    def kill(self) -> None:
        """End the server at once as `kill -9` does, with its children; return when they are gone."""
        self._end(b"kill")

    def _end(self, word: bytes) -> None:
        lifeline = self.supervisor.stdin
        if lifeline is not None and not lifeline.closed:
            with suppress(BrokenPipeError):
                lifeline.write(word)
                lifeline.flush()
            with suppress(BrokenPipeError):
                lifeline.close()
        self.supervisor.wait(STOP_SECONDS)


def free_ports(count: int) -> list[int]:
    """Return different ports of 127.0.0.1 on which nothing listens."""
    with ExitStack() as held:
        found: list[int] = []
        for port in random.SystemRandom().sample(SERVER_PORTS, len(SERVER_PORTS)):
            probe = held.enter_context(socket.socket())
            with suppress(OSError):
                probe.bind(("127.0.0.1", port))
                found.append(port)
            if len(found) == count:
                return found
    raise RuntimeError(f"No {count} free ports between {SERVER_PORTS[0]} and {SERVER_PORTS[-1]}; end other servers.")


def log_tail(log_path: Path) -> str:
    """Return the last 20 lines of a log, indented, for the end of an error message."""
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
    Start `command` in the folder of its log; it ends with this process, however this process ends.

    Told to end, it has `grace_seconds` before it is ended by force.
    `run_as` is a user id and group id, for servers that refuse to run as root.
    Raises RuntimeError when the command cannot be run at all.
    """
    options = [f"--log={log_path}", f"--stop-signal={int(stop_signal)}", f"--grace-seconds={grace_seconds}"]
    if run_as:
        options += [f"--user={run_as[0]}", f"--group={run_as[1]}"]
    with log_path.open("ab") as log:
        supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SUPERVISOR), *options, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=log_path.parent,
            env=env,
            # Out of reach of the terminal's Ctrl-C: the server is stopped after its clients, not together with them.
            start_new_session=True,
        )
    if supervisor.stdout is None:
        raise AssertionError("the supervisor was started with a pipe")
    with supervisor.stdout as answer:
        pid = answer.readline()
    if not pid:
        supervisor.wait()
        raise RuntimeError(f"{name} cannot be started. The end of {log_path}:\n{log_tail(log_path)}")
    return Child(name, int(pid), log_path, supervisor)


def wait_until_ready(child: Child, is_ready: Callable[[], bool], deadline_seconds: float) -> None:
    """
    Return once `is_ready` says so; it is asked again and again.

    Raises RuntimeError with the end of the log when the child ends first or the deadline passes, and ends the child.
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
    problem = f"does not answer after {deadline_seconds:g} s" if child.is_running() else "ended while it was starting"
    child.kill()
    raise RuntimeError(
        f"{child.name} {problem}, so nothing can use it; its output says why. "
        f"The end of {child.log_path}:\n{log_tail(child.log_path)}"
    )
