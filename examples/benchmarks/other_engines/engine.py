"""
What the engines have in common: what is fetched for them, how they are set, started and cleared away.

A command arrives, a running engine leaves; what it made on the broker for itself goes with it.
Each is set for latency like real-time mode: nothing lingers, and progress is committed every 30 seconds.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka.admin import AdminClient

from examples.benchmarks.harness.engine import Engine, Run, Start
from examples.benchmarks.other_engines.redact import without_addresses
from examples.benchmarks.other_engines.venv import Tell
from examples.services import java_home
from examples.services.child import start_child, wait_until_ready

START_SECONDS = 180.0
TIMEOUT_SECONDS = 30.0
FOREIGN = ("PYTHON", "FLINK_", "QUIX", "Quix", "SPARK_")


@dataclass(frozen=True)
class Peer:
    """An engine to be measured beside real-time mode."""

    name: str
    packages: tuple[str, ...]
    """What is fetched for it, at exact versions."""
    settings: Mapping[str, Any]
    """How it is set; topics and folders of a run come on top."""
    prepare: Callable[[Tell], object]
    """Fetches what is missing; raises RuntimeError with a reason in one line when that cannot be had."""
    start: Start


def prepare(peers: Sequence[Peer], tell: Tell) -> dict[str, str]:
    """Prepare all; return the reason for each that cannot be had, by name, fit to be published."""
    missing = {}
    for peer in peers:
        try:
            peer.prepare(tell)
        except (RuntimeError, OSError) as error:
            missing[peer.name] = without_addresses(str(error).splitlines()[0])
            tell(f"{peer.name} is left out: {missing[peer.name]}")
    return missing


@contextmanager
def supervised(name: str, command: Sequence[str], run: Run, is_ready: Callable[[], bool]) -> Iterator[Engine]:
    """Yield the engine once it is ready; end it afterwards and delete the topics that it made for itself."""
    # Whatever this shell has set for Python or for another installation of the engine would change what is measured.
    kept = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
    environment = kept | {"JAVA_HOME": str(java_home()), "FLINK_LOG_DIR": str(run.folder)}
    child = start_child(name, command, log_path=run.folder / "engine.log", env=environment)
    try:
        wait_until_ready(child, is_ready, START_SECONDS)
        yield Engine((child,))
    finally:
        child.stop()
        _delete_own_topics(run)


def _delete_own_topics(run: Run) -> None:
    # The client would tell of an event that nobody has read when it ends.
    silent = logging.getLogger(f"{__name__}.admin")
    silent.disabled = True
    admin = AdminClient({"bootstrap.servers": run.bootstrap_servers}, logger=silent)
    topics = admin.list_topics(timeout=TIMEOUT_SECONDS).topics
    # Each names them after its group, and that is named after the source.
    own = [topic for topic in topics if run.source in topic and topic != run.source]
    if own:
        for deleted in admin.delete_topics(own).values():
            deleted.result(TIMEOUT_SECONDS)
