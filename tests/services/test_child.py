"""A server that we start ends when it is told to, and always when we are gone."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from examples.services.child import Child, free_ports, log_tail, start_child, wait_until_ready
from tests.helpers import eventually, is_alive

WAIT_FOR_EVER = "import threading; threading.Event().wait()"
# The server has a child of its own, whose process id it writes to its log.
SERVER = f"""
import subprocess, sys
print(subprocess.Popen([sys.executable, "-c", {WAIT_FOR_EVER!r}]).pid, flush=True)
{WAIT_FOR_EVER}
"""
DEAF_SERVER = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); " + WAIT_FOR_EVER
)
PARENT = """
import signal, socket, sys, threading
from pathlib import Path
from examples.services.child import start_child

# Tests that `nohup` or a shell's background started would else hand down that these are ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
child = start_child("server", [sys.executable, "-c", sys.argv[2]], log_path=Path(sys.argv[1]))
print(child.pid, flush=True)
if sys.argv[3:]:
    with socket.socket(fileno=int(sys.argv[3])) as friend:
        socket.send_fds(friend, [b"lifeline"], [child.supervisor.stdin.fileno()])
threading.Event().wait()
"""


@contextmanager
def _running_parent(log_path: Path, *friends: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PARENT, str(log_path), SERVER, *map(str, friends)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        pass_fds=friends,
    ) as parent:
        try:
            yield parent
        finally:
            parent.kill()


def _read_pid(parent: subprocess.Popen[str]) -> int:
    assert parent.stdout is not None
    return int(parent.stdout.readline())


def _read_grandchild(log_path: Path) -> int:
    return int(eventually(log_path.read_text, 10, "the server has started its own child"))


def _start_server(log_path: Path, program: str) -> Child:
    return start_child("Test server", [sys.executable, "-c", program], log_path=log_path, grace_seconds=0.2)


@pytest.mark.parametrize(
    "end", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda end: end.name
)
def test_parent_that_ends_takes_the_server_with_it(tmp_path: Path, end: signal.Signals) -> None:
    """No server outlives the run that started it, and neither do the server's own children."""
    log_path = tmp_path / "log"
    with _running_parent(log_path) as parent:
        server, grandchild = _read_pid(parent), _read_grandchild(log_path)

        # To the whole group, as a terminal does it.
        os.killpg(parent.pid, end)

        eventually(lambda: not is_alive(server), 15, "the server has ended")
        eventually(lambda: not is_alive(grandchild), 15, "the server's child has ended")


def test_killed_parent_whose_pipe_is_still_held_takes_the_server_with_it(tmp_path: Path) -> None:
    """A process that inherited the pipe, as a fork of the run does, does not keep the servers up."""
    ours, theirs = socket.socketpair()
    with ours, theirs, _running_parent(tmp_path / "log", theirs.fileno()) as parent:
        server = _read_pid(parent)
        _, [lifeline], _, _ = socket.recv_fds(ours, 16, 1)

        parent.send_signal(signal.SIGKILL)

        try:
            eventually(lambda: not is_alive(server), 15, "the server has ended")
        finally:
            os.close(lifeline)


def test_stopped_server_is_gone_with_its_children(tmp_path: Path) -> None:
    """When stopping returns the server is gone, and its children have been ended."""
    log_path = tmp_path / "log"
    server = _start_server(log_path, SERVER)
    grandchild = _read_grandchild(log_path)

    server.stop()

    assert not server.is_running()
    assert not is_alive(server.pid)
    eventually(lambda: not is_alive(grandchild), 15, "the system has buried the server's child")


def test_server_deaf_to_stopping_is_ended_by_force(tmp_path: Path) -> None:
    """A server that does not want to stop has to, when its grace is over."""
    log_path = tmp_path / "log"
    server = _start_server(log_path, DEAF_SERVER)
    eventually(log_path.read_text, 10, "the server no longer hears")

    server.stop()

    assert not is_alive(server.pid)


def test_killed_server_is_gone_at_once(tmp_path: Path) -> None:
    """Killing does not ask the server, and can be done twice."""
    server = _start_server(tmp_path / "log", DEAF_SERVER)

    server.kill()
    server.kill()

    assert not is_alive(server.pid)


def test_server_that_ends_while_starting_shows_the_end_of_its_log(tmp_path: Path) -> None:
    """Whoever reads the error need not look for the log."""
    server = _start_server(tmp_path / "log", "raise SystemExit('the port is taken')")

    with pytest.raises(RuntimeError, match=r"Test server ended while it was starting[\s\S]*the port is taken"):
        wait_until_ready(server, lambda: False, deadline_seconds=30)


def test_server_that_does_not_answer_is_ended_at_the_deadline(tmp_path: Path) -> None:
    """Waiting ends, says for how long it waited, and leaves nothing behind."""
    log_path = tmp_path / "log"
    server = _start_server(log_path, "print('reading data', flush=True); " + WAIT_FOR_EVER)
    eventually(log_path.read_text, 10, "the server has started")

    with pytest.raises(RuntimeError, match=r"does not answer after 0\.1 s[\s\S]*reading data"):
        wait_until_ready(server, lambda: False, deadline_seconds=0.1)

    assert not is_alive(server.pid)


def test_failing_probe_ends_the_server(tmp_path: Path) -> None:
    """Ctrl-C while waiting leaves no server behind."""
    server = _start_server(tmp_path / "log", SERVER)

    def interrupt() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wait_until_ready(server, interrupt, deadline_seconds=30)

    assert not is_alive(server.pid)


def test_missing_program_is_named(tmp_path: Path) -> None:
    """A program that is not there is told from one that fails."""
    with pytest.raises(RuntimeError, match=r"Test server cannot be started[\s\S]*no-such-program: .*No such file"):
        start_child("Test server", ["no-such-program"], log_path=tmp_path / "log")


def test_free_ports_are_different_and_can_be_listened_on() -> None:
    """Each port can be taken by a server of its own."""
    ports = free_ports(3)

    listeners = [socket.create_server(("127.0.0.1", port)) for port in ports]
    for listener in listeners:
        listener.close()

    assert 3 == len(set(ports))


def test_long_log_is_cut_to_its_last_lines(tmp_path: Path) -> None:
    """An error shows twenty lines, the last ones."""
    log_path = tmp_path / "log"
    log_path.write_text("".join(f"line {number}\n" for number in range(100)))

    tail = log_tail(log_path).splitlines()

    assert [f"  line {number}" for number in range(80, 100)] == tail
