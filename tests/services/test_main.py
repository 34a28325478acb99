"""`python -m examples.services` serves a shell and leaves nothing behind."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from confluent_kafka.admin import AdminClient

from examples.services.child import free_ports
from tests.helpers import eventually

pytestmark = pytest.mark.services

COMMAND = [sys.executable, "-m", "examples.services"]


@pytest.fixture
def data_folder() -> Iterator[Path]:
    """Where the servers keep their data; pytest's own folders are closed to the user who runs the database for root."""
    with tempfile.TemporaryDirectory(prefix="test-services-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def environment(data_folder: Path) -> dict[str, str]:
    """An environment in which both servers are local."""
    named = ("KAFKA_BOOTSTRAP_SERVERS", "POSTGRES_DSN")
    kept = {name: value for name, value in os.environ.items() if name not in named}
    return {**kept, "TMPDIR": str(data_folder)}


@pytest.fixture
def services(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The command, started with its output piped."""
    with subprocess.Popen(
        COMMAND, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _read_exports(process: subprocess.Popen[str]) -> dict[str, str]:
    assert process.stdout is not None
    lines = [shlex.split(process.stdout.readline()) for _ in range(2)]
    assert ["export", "export"] == [words[0] for words in lines]
    return dict(words[1].split("=", 1) for words in lines)


def _server_pids(process: subprocess.Popen[str]) -> list[int]:
    """Return the two servers: the children of the two supervisors that are the command's children."""
    answer = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    rows = [tuple(map(int, line.split())) for line in answer.splitlines()]
    supervisors = {pid for pid, parent in rows if parent == process.pid}
    return [pid for pid, parent in rows if parent in supervisors]


def _are_running(pids: list[int]) -> list[int]:
    answer = subprocess.run(["ps", "-A", "-o", "pid=,stat="], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in answer.splitlines()]
    return [int(pid) for pid, state in rows if int(pid) in pids and not state.startswith("Z")]


def test_printed_addresses_answer_until_the_interrupt(services: subprocess.Popen[str], data_folder: Path) -> None:
    """A shell gets two addresses that work, and Ctrl-C ends both servers, deletes their data and is no failure."""
    exports = _read_exports(services)
    servers = _server_pids(services)

    assert AdminClient({"bootstrap.servers": exports["KAFKA_BOOTSTRAP_SERVERS"]}).list_topics(timeout=10).brokers
    psycopg.connect(exports["POSTGRES_DSN"]).close()
    # To the whole group, as a terminal does it.
    os.killpg(services.pid, signal.SIGINT)

    assert 0 == services.wait(30)
    assert len(servers) == 2
    assert [] == _are_running(servers)
    assert [] == list(data_folder.glob("spark-rtm*"))


def test_killed_command_takes_both_servers_with_it(services: subprocess.Popen[str]) -> None:
    """Not even `kill -9` leaves a server behind."""
    _read_exports(services)
    servers = _server_pids(services)

    services.kill()

    assert len(servers) == 2
    eventually(lambda: not _are_running(servers), 20, "broker and database have ended")


def test_dead_named_server_ends_the_command_with_the_reason_alone(environment: dict[str, str]) -> None:
    """Whoever names a dead server reads one message and no stack trace."""
    dead = {**environment, "KAFKA_BOOTSTRAP_SERVERS": f"127.0.0.1:{free_ports(1)[0]}"}

    answer = subprocess.run(COMMAND, env=dead, capture_output=True, text=True, check=False, timeout=60)

    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr.startswith("No Kafka broker answers at")
    assert "Traceback" not in answer.stderr
