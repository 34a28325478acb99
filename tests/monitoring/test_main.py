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
from spark_rtm.services.child import free_ports
from spark_rtm.services.kafka import LocalKafka
from spark_rtm.services.local_server import running
from tests.helpers import eventually, new_topic

pytestmark = pytest.mark.services

COMMAND = [sys.executable, "-m", "spark_rtm.monitoring"]


def samples_of(port: int, name: str) -> dict[str, float]:
    """Return the values of a metric per partition; it is empty while no server answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
            families = [*text_string_to_metric_families(response.read().decode())]
    except urllib.error.URLError:
        return {}
    return {s.labels["partition"]: s.value for family in families for s in family.samples if s.name == name}


def missing_canaries(port: int) -> dict[str, float]:
    return samples_of(port, "realtime_canary_missing_seconds")


def test_command_survives_outages_and_ends_with_ctrl_c() -> None:
    """A broker that is absent at the start is found later, and canaries are missing after its kill."""
    [port] = free_ports(1)
    with running(LocalKafka()) as broker:
        source = new_topic(broker.bootstrap_servers, 2)
        topics = [f"{source}-target", f"{source}-rejects"]
        ensure_topics(broker.bootstrap_servers, topics, 1)
        broker.stop()
        arguments = [source, *topics, "--partitions", "2", "--port", str(port), "--canary", '{"card":"KEY"}']
        environment = os.environ | {"KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers}
        with subprocess.Popen(
            [*COMMAND, *arguments], cwd=files.ROOT, env=environment, stderr=subprocess.DEVNULL
        ) as program:
            try:
                eventually(lambda: len(missing_canaries(port)) == 2, 60, "the canaries without a broker")
                broker.start()
                eventually(lambda: samples_of(port, "realtime_partition_lag"), 60, "the lag")
                broker.kill()
                eventually(lambda: min(missing_canaries(port).values(), default=0) > 5, 60, "the outage")
                program.send_signal(signal.SIGINT)
                assert 0 == program.wait(60)
            finally:
                program.kill()


@pytest.mark.parametrize(
    ("canary", "variables", "message"),
    [
        ('{"card":', {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"}, "argument --canary: invalid"),
        ('{"card":"KEY"}', {"KAFKA_BOOTSTRAP_SERVERS": ""}, "KAFKA_BOOTSTRAP_SERVERS is not set"),
    ],
    ids=["canary is no JSON", "no broker"],
)
def test_wrong_call_is_named_at_once(canary: str, variables: dict[str, str], message: str) -> None:
    """A canary that is not JSON would be rejected by the query, so the command refuses it."""
    command = [*COMMAND, "a", "b", "c", "--canary", canary]

    result = subprocess.run(
        command, cwd=files.ROOT, env=os.environ | variables, text=True, capture_output=True, check=False, timeout=60
    )

    assert 2 == result.returncode
    assert message in result.stderr


@pytest.mark.parametrize("address", ["127.0.0.1", "192.0.2.1"], ids=["port is taken", "address of no machine"])
def test_port_or_address_without_access_is_named_in_one_line(address: str) -> None:
    """The command notices this without a broker; 192.0.2.1 is reserved for documentation."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        result = subprocess.run(
            [*COMMAND, "a", "b", "c", "--canary", "{}", "--port", port, "--address", address],
            cwd=files.ROOT,
            env=os.environ | {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"},
            text=True,
            capture_output=True,
            check=False,
            timeout=60,
        )

    assert (2, 1) == (result.returncode, len(result.stderr.splitlines())), result.stderr
    assert f"cannot serve metrics at port {port} of {address}" in result.stderr
