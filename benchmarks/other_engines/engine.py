"""
Functions of all other engines: install, start and clean up.

Like real-time mode, each engine is tuned for low latency: it does not buffer outputs. All engines have the same commit
interval, which is the trigger interval of real-time mode.
"""

import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient

from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from spark_rtm.services import java_home
from spark_rtm.services.child import start_child, wait_until_ready

START_SECONDS = 180.0
TIMEOUT_SECONDS = 30.0
REMOVED_VARIABLES = ("PYTHON", "FLINK_", "QUIX", "Quix", "SPARK_")
"""Prefixes of environment variables that the engines do not inherit."""

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class OtherEngine:
    """An engine to compare with real-time mode."""

    name: str
    packages: tuple[str, ...]
    """Packages to install, at exact versions."""
    settings: Callable[[float], Settings]
    """Returns the settings for a commit interval in seconds, without the topics and folders of a run."""
    prepare: Callable[[], object]
    """Installs missing packages, or raises RuntimeError."""
    start: Callable[[Settings, Run], AbstractContextManager[Engine]]

    def case(self, workload: Workload, interval_seconds: float) -> Case:
        """Return the case of this engine for a workload and a commit interval."""
        settings = self.settings(interval_seconds)
        return Case(self.name, workload, partial(self.start, settings), settings=settings)


@contextmanager
def running_engine(name: str, command: Sequence[str], run: Run, is_ready: Callable[[], bool]) -> Iterator[Engine]:
    """Start an engine and yield it when ready. At the end, stop it and delete its internal topics."""
    # Environment variables for Python or for another installation of the engine would affect the measurement.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(REMOVED_VARIABLES)}
    environment = inherited | {"JAVA_HOME": str(java_home()), "FLINK_LOG_DIR": str(run.folder)}
    child = start_child(name, command, log_path=run.folder / "engine.log", env=environment)
    try:
        wait_until_ready(child, is_ready, START_SECONDS)
        yield Engine((child,))
    finally:
        child.stop()
        _delete_internal_topics(run)


def job_command(python: Path, job: Path, run: Run, settings: Settings) -> list[str]:
    """Return the command that runs a Python job in its own environment, with a JSON object as argument."""
    names = ("bootstrap_servers", "source", "target", "rejected", "workload")
    argument = {name: getattr(run, name) for name in names} | {"settings": settings}
    return [str(python), "-I", str(job), json.dumps(argument)]


def _delete_internal_topics(run: Run) -> None:
    # The client logs only errors. Otherwise, the client would log an unread event when it ends.
    disabled = logging.getLogger(f"{__name__}.admin")
    disabled.disabled = True
    admin = AdminClient({"bootstrap.servers": run.bootstrap_servers}, logger=disabled)
    topics = admin.list_topics(timeout=TIMEOUT_SECONDS).topics
    # Engines name internal topics after their consumer group, and the group has the name of the run's source topic.
    internal = [topic for topic in topics if run.source in topic and topic != run.source]
    if internal:
        for deleted in admin.delete_topics(internal).values():
            deleted.result(TIMEOUT_SECONDS)
