import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scripts.pack import files
from spark_rtm.kafka.topics import ensure_topics
from spark_rtm.monitoring.__main__ import main
from spark_rtm.services.child import free_ports
from spark_rtm.services.kafka import LocalKafka
from tests.helpers import eventually

pytestmark = pytest.mark.services

TOPICS = ["source", "target", "rejects"]


def samples_of(port: int, name: str) -> list[float]:
    """Return the values of a metric; the list is empty while no server answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
            families = [*text_string_to_metric_families(response.read().decode())]
    except urllib.error.URLError:
        return []
    return [sample.value for family in families for sample in family.samples if sample.name == name]


def missing_canaries(port: int) -> list[float]:
    return samples_of(port, "realtime_canary_missing_seconds")


def test_command_survives_outages_and_ends_with_ctrl_c() -> None:
    """A broker that is absent when the watcher starts is found later, and canaries are missing after its kill."""
    [port] = free_ports(1)
    broker = LocalKafka()
    environment = os.environ | {"KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers}
    command = [sys.executable, "-m", "spark_rtm.monitoring", *TOPICS, "--partitions", "2", "--port", str(port)]
    command += ["--canary", '{"card":"KEY"}']
    with subprocess.Popen(command, cwd=files.ROOT, env=environment, stderr=subprocess.DEVNULL) as program:
        try:
            eventually(lambda: len(missing_canaries(port)) == 2, 60, "the canaries without a broker")
            broker.start()
            ensure_topics(broker.bootstrap_servers, TOPICS, 2)
            eventually(lambda: samples_of(port, "realtime_partition_lag"), 60, "the lag")
            broker.kill()
            before = min(missing_canaries(port))
            eventually(lambda: min(missing_canaries(port), default=0) > before + 1, 60, "the outage")
            program.send_signal(signal.SIGINT)
            assert 0 == program.wait(60)
        finally:
            program.kill()
            broker.remove()


@pytest.mark.parametrize(
    ("canary", "servers", "address", "message"),
    [
        ('{"card":', "127.0.0.1:1", "127.0.0.1", "argument --canary: invalid"),
        ("{}", "", "127.0.0.1", "KAFKA_BOOTSTRAP_SERVERS is not set"),
        ("{}", "127.0.0.1:1", "127.0.0.1", "cannot serve metrics at port PORT of 127.0.0.1"),
        # This address is reserved for documentation.
        ("{}", "127.0.0.1:1", "192.0.2.1", "cannot serve metrics at port PORT of 192.0.2.1"),
    ],
    ids=["canary is no JSON", "no broker", "port is taken", "address of no machine"],
)
def test_wrong_call_is_named_at_once(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    canary: str,
    servers: str,
    address: str,
    message: str,
) -> None:
    """The command reports the mistake without a broker. The query would reject a canary that is not JSON."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", servers)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        arguments = [*TOPICS, "--canary", canary, "--port", port, "--address", address]
        with pytest.raises(SystemExit, match="2"):
            sys.exit(main(arguments))

    assert message.replace("PORT", port) in capsys.readouterr().err
