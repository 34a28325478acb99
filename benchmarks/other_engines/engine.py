"""
Start the other engines. The versions of their jars are in `ivy/`.

Like real-time mode, each engine is tuned for low latency: it does not buffer outputs. All engines have the same commit
interval. Each has its own environment, because its libraries conflict with Spark's.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from spark_rtm.services import java_home, packages
from spark_rtm.services.child import start_child, wait_until_ready

START_SECONDS = 180.0
IVY_FILES = Path(__file__).parent / "ivy"
REMOVED_VARIABLES = ("PYTHON", "FLINK_", "SPARK_")
"""Prefixes of environment variables that the engines do not inherit."""

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class OtherEngine:
    """An engine to compare with real-time mode."""

    name: str
    packages: tuple[str, ...]
    settings: Callable[[float], Settings]
    """Returns the settings for a commit interval in seconds, without the topics and folders of a run."""
    prepare: Callable[[], object]
    """Installs missing packages, or raises RuntimeError."""
    start: Callable[[Settings, Run], AbstractContextManager[Engine]]

    def case(self, workload: Workload, interval_seconds: float) -> Case:
        """Return the benchmark case for this engine, a workload and a commit interval."""
        settings = self.settings(interval_seconds)
        return Case(self.name, workload, partial(self.start, settings), settings=settings)


@contextmanager
def running_engine(name: str, command: Sequence[str], run: Run, is_ready: Callable[[], bool]) -> Iterator[Engine]:
    """Start an engine, and yield it when it is ready."""
    # Environment variables for Python or for another installation of the engine would affect the measurement.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(REMOVED_VARIABLES)}
    environment = inherited | {"JAVA_HOME": str(java_home()), "FLINK_LOG_DIR": str(run.folder)}
    child = start_child(name, command, log_path=run.folder / "engine.log", env=environment)
    try:
        wait_until_ready(child, is_ready, START_SECONDS)
        yield Engine((child,))
    finally:
        child.stop()


def pinned(name: str) -> list[str]:
    """Return the pinned Maven packages, each as group:name:version."""
    return list(packages.pinned(IVY_FILES / f"{name}.xml").values())


def jars(name: str) -> tuple[Path, ...]:
    """Return the jars. Raise RuntimeError if they cannot be downloaded."""
    return packages.jars(IVY_FILES / f"{name}.xml")
