import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spark_rtm.services.child import Child, start_child, wait_until_ready
from tests.helpers import eventually, is_alive

WAIT_FOREVER = "import threading; threading.Event().wait()"
# The server ignores its stop signal, starts its own child and writes the child's process id to its log.
SERVER = f"""
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(subprocess.Popen([sys.executable, "-c", {WAIT_FOREVER!r}]).pid, flush=True)
{WAIT_FOREVER}
"""
# The server starts its own child, which needs half a second to clean up, and ends when the child is ready.
SERVER_WITH_CLEANUP = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], stdout=subprocess.PIPE)
child.stdout.readline()
"""
CLEANUP = """
import signal, sys, threading
from pathlib import Path

def clean_up(*_):
    threading.Event().wait(0.5)
    Path(sys.argv[1]).touch()
    sys.exit()

signal.signal(signal.SIGTERM, clean_up)
print("ready", flush=True)
threading.Event().wait()
"""
PARENT = """
import signal, sys, threading
from pathlib import Path
from spark_rtm.services.child import start_child

# In the background of a shell, this process would inherit that the signal is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
command = [sys.executable, "-c", sys.argv[2]]
child = start_child("server", command, log_path=Path(sys.argv[1]), grace_seconds=0.2)
print(child.pid, flush=True)
threading.Event().wait()
"""
# The server's child becomes a child of this process, which never asks for its status.
NEGLIGENT = """
import ctypes, sys
from pathlib import Path
from spark_rtm.services.child import start_child, wait_until_ready

PR_SET_CHILD_SUBREAPER = 36
assert 0 == ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
command = ["sh", "-c", "sleep 1000 & echo $!; wait"]
child = start_child("server", command, log_path=Path(sys.argv[1]), grace_seconds=1000)
wait_until_ready(child, lambda: bool(child.log_path.read_text()), 30)
getattr(child, sys.argv[2])()
print(Path(f"/proc/{int(child.log_path.read_text())}/stat").read_text().split()[2])
"""


@contextmanager
def _running_parent(log_path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PARENT, str(log_path), SERVER]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as parent:
        try:
            yield parent
        finally:
            parent.kill()


def _read_pid(parent: subprocess.Popen[str]) -> int:
    assert parent.stdout is not None
    return int(parent.stdout.readline())


def _read_grandchild(log_path: Path) -> int:
    return int(eventually(log_path.read_text, 60, "the process id of the server's child"))


def _start_server(log_path: Path, program: str) -> Child:
    return start_child("Test server", [sys.executable, "-c", program], log_path=log_path, grace_seconds=0.2)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=lambda end: end.name)
def test_server_ends_with_its_parent(tmp_path: Path, end: signal.Signals) -> None:
    log_path = tmp_path / "log"
    with _running_parent(log_path) as parent:
        server, grandchild = _read_pid(parent), _read_grandchild(log_path)

        # A terminal sends the signal to the whole process group.
        os.killpg(parent.pid, end)

        eventually(lambda: not is_alive(server), 60, "the end of the server")
        eventually(lambda: not is_alive(grandchild), 60, "the end of the server's child")


def test_stopped_server_is_killed_with_its_children(tmp_path: Path) -> None:
    log_path = tmp_path / "log"
    server = _start_server(log_path, SERVER)
    grandchild = _read_grandchild(log_path)

    server.stop()

    assert not server.is_running()
    assert not is_alive(server.pid)
    eventually(lambda: not is_alive(grandchild), 60, "the end of the server's child")


def test_child_of_an_ended_server_can_clean_up(tmp_path: Path) -> None:
    """A process that outlives the server, such as Spark's JVM, has time to delete its files."""
    cleaned = tmp_path / "cleaned"
    command = [sys.executable, "-c", SERVER_WITH_CLEANUP, CLEANUP, str(cleaned)]

    server = start_child("Test server", command, log_path=tmp_path / "log")

    eventually(lambda: not server.is_running(), 60, "the end of the server and of its child")
    assert cleaned.exists()


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_ended_process_without_a_reader_of_its_status_delays_nothing(tmp_path: Path, end: str) -> None:
    """The end of a server does not wait for a process that has ended, although its group still contains it."""
    command = [sys.executable, "-c", NEGLIGENT, str(tmp_path / "log"), end]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert "Z\n" == done.stdout, done.stderr


def interrupt() -> bool:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("end", "seconds", "probe", "error", "problem"),
    [
        ("raise SystemExit(1)", 30, bool, RuntimeError, r"Test server exited during startup[\s\S]*reading data"),
        (WAIT_FOREVER, 0.1, bool, RuntimeError, r"Test server was not ready after 0\.1 s[\s\S]*reading data"),
        (WAIT_FOREVER, 30, interrupt, KeyboardInterrupt, "^$"),
    ],
    ids=["exit", "deadline", "interrupt"],
)
def test_server_that_does_not_start_shows_its_log_and_is_killed(
    tmp_path: Path, end: str, seconds: float, probe: Callable[[], bool], error: type[BaseException], problem: str
) -> None:
    log_path = tmp_path / "log"
    server = _start_server(log_path, f"print('reading data', flush=True); {end}")
    eventually(log_path.read_text, 60, "the first output of the server")

    with pytest.raises(error, match=problem):
        wait_until_ready(server, probe, seconds)

    assert not is_alive(server.pid)
