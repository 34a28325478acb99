"""
Install and cache the other engines, and start them. The versions of their jars are in `ivy/`.

Like real-time mode, each engine is tuned for low latency: it does not buffer outputs. All engines have the same commit
interval. Each has its own environment, because its libraries conflict with Spark's.
"""

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.harness.engine import Engine, Run
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from spark_rtm.services import java_home, packages
from spark_rtm.services.cache import cached_folder
from spark_rtm.services.child import start_child, wait_until_ready

START_SECONDS = 180.0
FOLDER = Path(__file__).parent
IVY_FILES = FOLDER / "ivy"
REMOVED_VARIABLES = ("PYTHON", "FLINK_", "QUIX", "Quix", "SPARK_")
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
        """Return the case of this engine for a workload and a commit interval."""
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


def job_command(engine: str, requirement: str, run: Run, settings: Settings) -> list[str]:
    """Return the command that runs `ENGINE_job.py` in the engine's environment, with a JSON object as argument."""
    names = ("bootstrap_servers", "source", "target", "rejected", "workload")
    argument = {name: getattr(run, name) for name in names} | {"settings": settings}
    return [str(python_with(engine, requirement)), "-I", str(FOLDER / f"{engine}_job.py"), json.dumps(argument)]


def pinned(name: str) -> list[str]:
    """Return the pinned Maven packages, each as group:name:version."""
    return list(packages.pinned(IVY_FILES / f"{name}.xml").values())


def jars(name: str) -> tuple[Path, ...]:
    """Return the jars. Raise RuntimeError if they cannot be downloaded."""
    return packages.jars(IVY_FILES / f"{name}.xml")


def python_with(engine: str, requirement: str) -> Path:
    """
    Return the Python interpreter of an environment with the packages of `requirements/ENGINE.txt`.

    The environment has the Python version of this process. If the installation fails, nothing remains in the cache, and
    the function raises RuntimeError with the reason.
    """
    lock = FOLDER / "requirements" / f"{engine}.txt"

    def fill(folder: Path) -> None:
        print(f"installing {requirement} once: downloads up to 450 MB, uses 850 MB of disk", file=sys.stderr)
        venv.create(folder, symlinks=True)
        python = str(folder / "bin" / "python")
        command = [sys.executable, "-m", "pip", "--python", python, "install", "--no-input", "--progress-bar=off"]
        # Compiled files would contain the name of the temporary folder, which is renamed when the environment is
        # complete.
        command += ["--disable-pip-version-check", "--no-compile", "--require-hashes", "-r", str(lock)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"pip cannot install the packages of {lock.name}:\n{done.stderr.strip()}")

    # The interpreter of an environment is a link to the Python that created it, so the name depends on that Python.
    digest = sha256(f"{requirement}\n{lock.read_text()}\n{sys.version}\n{sys.base_prefix}".encode()).hexdigest()
    return cached_folder(f"environments/{requirement.partition('==')[0]}-{digest[:16]}", fill) / "bin" / "python"
