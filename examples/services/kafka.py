"""
Run a real single-node Kafka broker on this machine, or use the cluster that the environment names.

Jars from the cache arrive, the address of an answering broker leaves.
Real-time latency is read from the broker's own clock, so topics take the time of appending unless they say otherwise.
"""

import base64
import logging
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from examples.services.child import Child, free_ports, log_tail, running, start_child, wait_until_ready
from examples.services.java import java_home
from examples.services.packages import broker_jars

START_SECONDS = 60.0
PROBE_SECONDS = 1.0
OUTSIDE_PROBE_SECONDS = 10.0
HEAP = "512m"
PROPERTIES = Path(__file__).with_name("broker.properties")


def _answers(bootstrap_servers: str, timeout_seconds: float) -> bool:
    # The client would print every refused connection; here those are the answer "not yet".
    silent = logging.getLogger(f"{__name__}.probe")
    silent.disabled = True
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "reconnect.backoff.max.ms": 100}, logger=silent)
    try:
        return bool(admin.list_topics(timeout=timeout_seconds).brokers)
    except KafkaException:
        return False


def _java_command(main_class: str, *arguments: str) -> list[str]:
    class_path = os.pathsep.join(str(jar) for jar in broker_jars())
    options = [f"-Xmx{HEAP}", f"-Xms{HEAP}", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"]
    logs = ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true"]
    return [str(java_home() / "bin" / "java"), *options, *logs, "-cp", class_path, main_class, *arguments]


@dataclass
class LocalKafka:
    """
    A single-node Kafka broker on 127.0.0.1 with its data in a temporary folder.

    `stop` and `kill` keep data and port, so that `start` continues with the same topics; `remove` deletes the data.
    """

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="spark-rtm-kafka-")))
    ports: list[int] = field(default_factory=lambda: free_ports(2))
    child: Child | None = None

    @property
    def bootstrap_servers(self) -> str:
        """The broker's address, the same for the whole life of this object."""
        return f"127.0.0.1:{self.ports[0]}"

    @property
    def log_path(self) -> Path:
        """Where the broker's output goes."""
        return self.folder / "broker.log"

    def start(self) -> None:
        """Start the broker and return when it answers; raises RuntimeError with the end of its log when it does not."""
        properties = self.folder / "broker.properties"
        if not properties.exists():
            self._format(properties)
        self.child = start_child("Kafka broker", _java_command("kafka.Kafka", str(properties)), log_path=self.log_path)
        wait_until_ready(self.child, lambda: _answers(self.bootstrap_servers, PROBE_SECONDS), START_SECONDS)

    def _format(self, properties: Path) -> None:
        port, controller = self.ports
        draft = properties.with_suffix(".draft")
        draft.write_text(PROPERTIES.read_text().format(port=port, controller=controller, data=self.folder / "data"))
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        command = _java_command("kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "-c", str(draft))
        with self.log_path.open("ab") as log:
            status = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
        if status:
            raise RuntimeError(f"Kafka's storage tool failed. The end of {self.log_path}:\n{log_tail(self.log_path)}")
        draft.rename(properties)

    def stop(self) -> None:
        """Stop the broker in order; does nothing when it is not running."""
        if self.child:
            self.child.stop()

    def kill(self) -> None:
        """End the broker as `kill -9` does."""
        if self.child:
            self.child.kill()

    def remove(self) -> None:
        """Stop the broker and delete its data."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def kafka_broker() -> Iterator[str]:
    """
    Yield the bootstrap servers of `KAFKA_BOOTSTRAP_SERVERS`, else of a local broker that ends with the block.

    Raises RuntimeError when the named servers do not answer within 10 s or the local broker does not start.
    """
    if outside := os.environ.get("KAFKA_BOOTSTRAP_SERVERS"):
        if not _answers(outside, OUTSIDE_PROBE_SECONDS):
            raise RuntimeError(
                f"No Kafka broker answers at {outside!r} (KAFKA_BOOTSTRAP_SERVERS) within {OUTSIDE_PROBE_SECONDS:g} s, "
                "so a query would wait in silence; correct the address, or unset the variable for a local broker."
            )
        yield outside
        return
    with running(LocalKafka()) as broker:
        yield broker.bootstrap_servers
