"""
Run a real single-node Kafka broker on this machine, or use the cluster at `KAFKA_BOOTSTRAP_SERVERS`.

The examples measure latency with the broker's clock, so topics store append times by default. Without further
`properties`, the local broker uses neither authentication nor encryption. Every user of this machine can then read and
write its topics, so use it only on a single-user machine.
"""

import base64
import logging
import os
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from spark_rtm.services.child import (
    GRACE_SECONDS,
    LocalServer,
    free_ports,
    log_tail,
    open_log,
    running,
    start_child,
    wait_until_ready,
)
from spark_rtm.services.folders import jvm_folder, new_folder
from spark_rtm.services.java import (
    RECORDING_SECONDS,
    class_archive,
    class_archive_options,
    java_home,
    record_archive,
)
from spark_rtm.services.packages import broker_jars

START_TIMEOUT_SECONDS = 60.0
PROBE_TIMEOUT_SECONDS = 1.0
EXTERNAL_PROBE_TIMEOUT_SECONDS = 10.0
HEAP_SIZE = "512m"
BROKER_PROPERTIES = Path(__file__).with_name("broker.properties")
NO_SERVERS = (
    "KAFKA_BOOTSTRAP_SERVERS is not set, so there is no topic to read; export the address of your cluster, "
    "or run `make services` in another shell and run the `export` line that it prints"
)
"""Error message of programs that start no broker of their own, if KAFKA_BOOTSTRAP_SERVERS is not set."""


def archive() -> Path:
    """Return the path of the broker's class archive, which `record_classes` writes."""
    return class_archive("broker", broker_jars())


def archive_options() -> list[str]:
    """Return JVM options that load the archive, if it exists and the class path begins with the broker's jars."""
    return class_archive_options(archive())


def record_classes() -> Path:
    """Return the folder of the broker's class archive. The first call starts a broker to create the archive."""

    def run(options: list[str]) -> None:
        with running(LocalKafka(archive_options=options, grace_seconds=RECORDING_SECONDS)):
            pass

    return record_archive(archive(), run)


def _is_available(bootstrap_servers: str, timeout_seconds: float) -> bool:
    # The client would log every refused connection, but a refusal only means that the broker is not ready yet.
    silent = logging.getLogger(f"{__name__}.probe")
    silent.disabled = True
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "reconnect.backoff.max.ms": 100}, logger=silent)
    try:
        return bool(admin.list_topics(timeout=timeout_seconds).brokers)
    except KafkaException:
        return False


def _java_command(archive_options: list[str], main_class: str, *arguments: str) -> list[str]:
    options = [*archive_options, f"-Xmx{HEAP_SIZE}", f"-Xms{HEAP_SIZE}", "-XX:MaxGCPauseMillis=20"]
    options += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true"]
    options.append(f"-Djava.io.tmpdir={jvm_folder()}")
    class_path = os.pathsep.join(map(str, broker_jars()))
    return [str(java_home() / "bin" / "java"), *options, "-cp", class_path, main_class, *arguments]


@dataclass
class LocalKafka(LocalServer):
    """A single-node Kafka broker on 127.0.0.1 with its data in the run folder."""

    log_name: ClassVar[str] = "broker.log"
    folder: Path = field(default_factory=lambda: new_folder("kafka"))
    ports: list[int] = field(default_factory=lambda: free_ports(2))
    archive_options: list[str] = field(default_factory=lambda: class_archive_options(archive()))
    grace_seconds: float = GRACE_SECONDS
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Broker properties that override `broker.properties`, for example for a listener with authentication."""

    @property
    def bootstrap_servers(self) -> str:
        """The broker's address, which survives restarts."""
        return f"127.0.0.1:{self.ports[0]}"

    def start(self) -> None:
        """Start the broker and wait until it responds. If it does not, raise RuntimeError with the end of its log."""
        properties = self.folder / "broker.properties"
        if not properties.exists():
            self._format(properties)
        command = _java_command(self.archive_options, "kafka.Kafka", str(properties))
        self.child = start_child("Kafka broker", command, log_path=self.log_path, grace_seconds=self.grace_seconds)
        servers = self.bootstrap_servers
        wait_until_ready(self.child, lambda: _is_available(servers, PROBE_TIMEOUT_SECONDS), START_TIMEOUT_SECONDS)

    def _format(self, properties: Path) -> None:
        port, controller = self.ports
        draft = properties.with_suffix(".draft")
        text = BROKER_PROPERTIES.read_text().format(port=port, controller=controller, data=self.folder / "data")
        # The last value of a property takes effect. The folder is private, so no other user can read a password.
        draft.write_text(text + "".join(f"{name}={value}\n" for name, value in self.properties.items()))
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        arguments = ("format", f"--cluster-id={cluster_id}", "-c", str(draft))
        command = _java_command(archive_options(), "kafka.tools.StorageTool", *arguments)
        with open_log(self.log_path) as log:
            status = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
        if status:
            raise RuntimeError(
                f"cannot format Kafka's storage folder. Last lines of {self.log_path}:\n{log_tail(self.log_path)}"
            )
        draft.rename(properties)


@contextmanager
def kafka_broker() -> Iterator[str]:
    """
    Yield `KAFKA_BOOTSTRAP_SERVERS`, or the address of a local broker that runs during the block.

    Raises RuntimeError if the given servers do not respond within 10 s or the local broker does not start.
    """
    if external := os.environ.get("KAFKA_BOOTSTRAP_SERVERS"):
        if not _is_available(external, EXTERNAL_PROBE_TIMEOUT_SECONDS):
            raise RuntimeError(
                f"no Kafka broker responded at {external!r} (KAFKA_BOOTSTRAP_SERVERS) within "
                f"{EXTERNAL_PROBE_TIMEOUT_SECONDS:g} s, so a query would wait without reporting an error; correct the "
                "address, or unset KAFKA_BOOTSTRAP_SERVERS to start a local broker"
            )
        yield external
        return
    with running(LocalKafka()) as broker:
        yield broker.bootstrap_servers
