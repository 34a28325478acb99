import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from confluent_kafka.admin import AdminClient
from psycopg.conninfo import conninfo_to_dict

from spark_rtm.services import kafka
from spark_rtm.services.child import free_ports
from tests.helpers import is_alive

pytestmark = pytest.mark.services

COMMAND = [sys.executable, "-m", "spark_rtm.services"]


@pytest.fixture
def data_folder() -> Iterator[Path]:
    """
    Yield a data folder that the database's user can enter.

    If root runs the tests, the database runs as another user, who cannot enter pytest's folders.
    """
    with tempfile.TemporaryDirectory(prefix="test-services-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def environment(data_folder: Path) -> dict[str, str]:
    named = ("KAFKA_BOOTSTRAP_SERVERS", "POSTGRES_DSN")
    kept = {name: value for name, value in os.environ.items() if name not in named}
    return {**kept, "TMPDIR": str(data_folder)}


@pytest.fixture
def services(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
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


def _listening_addresses(server: psutil.Process) -> set[str]:
    """Return the addresses on which a server accepts connections; Java shows IPv4 addresses in their IPv6 form."""
    connections = [one for one in server.net_connections(kind="inet") if one.status == psutil.CONN_LISTEN]
    assert connections
    return {one.laddr.ip.removeprefix("::ffff:") for one in connections}


def test_printed_addresses_work_until_the_interrupt(services: subprocess.Popen[str], data_folder: Path) -> None:
    """
    The printed addresses work without a password; Ctrl-C stops the servers, deletes their data and exits with 0.

    The broker's JVM has mapped the class archive that `make setup` created.
    """
    exports = _read_exports(services)
    servers = [server for child in psutil.Process(services.pid).children() for server in child.children()]

    assert AdminClient({"bootstrap.servers": exports["KAFKA_BOOTSTRAP_SERVERS"]}).list_topics(timeout=10).brokers
    (broker,) = [server for server in servers if server.name() == "java"]
    assert str(kafka.archive()) in Path(f"/proc/{broker.pid}/maps").read_text()
    psycopg.connect(exports["POSTGRES_DSN"]).close()
    assert "password" not in conninfo_to_dict(exports["POSTGRES_DSN"])
    assert {"127.0.0.1"} == set.union(*map(_listening_addresses, servers))
    # A terminal sends the signal to the whole process group.
    os.killpg(services.pid, signal.SIGINT)

    assert 0 == services.wait(60)
    assert len(servers) == 2
    assert [] == [server for server in servers if is_alive(server.pid)]
    assert [] == list(data_folder.iterdir())


def test_unreachable_external_cluster_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unreachable address raises an error, because a query would wait silently."""
    dead = f"127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", dead)
    monkeypatch.setattr(kafka, "EXTERNAL_PROBE_TIMEOUT_SECONDS", 0.5)

    with (
        pytest.raises(RuntimeError, match=f"no Kafka broker responded at '{dead}'.*unset KAFKA_BOOTSTRAP_SERVERS"),
        kafka.kafka_broker(),
    ):
        pytest.fail("an unreachable address was accepted")
