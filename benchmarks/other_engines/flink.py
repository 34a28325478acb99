"""Run Flink SQL on a cluster within one process. Output buffering, by default up to 100 ms, is turned off."""

import json
import urllib.request
from contextlib import AbstractContextManager

from benchmarks.harness.engine import Engine, Run
from benchmarks.other_engines.engine import (
    OtherEngine,
    Settings,
    jars,
    job_command,
    pinned,
    python_with,
    running_engine,
)
from spark_rtm.services.child import free_ports

NAME, CONNECTOR, PYTHON = "Flink", "flink_connector", ("flink", "apache-flink==2.3.0")
PROBE_SECONDS = 2.0
SETTINGS = {
    "execution.buffer-timeout.interval": "0 ms",
    "state.backend.type": "hashmap",
    # A failure must end the run. A restart would hide the failure.
    "restart-strategy.type": "none",
}


def settings(interval_seconds: float) -> Settings:
    """Return the settings for one checkpoint per interval."""
    return SETTINGS | {"execution.checkpointing.interval": f"{interval_seconds * 1000:.0f} ms"}


def prepare() -> None:
    """Install Flink with its Python API, and download its Kafka connector."""
    python_with(*PYTHON)
    jars(CONNECTOR)


def flink(settings: Settings, run: Run) -> AbstractContextManager[Engine]:
    """Start Flink with its state on the heap."""
    port = free_ports(1)[0]
    run_settings = {
        "parallelism.default": str(run.partitions),
        "taskmanager.numberOfTaskSlots": str(run.partitions),
        "pipeline.jars": ";".join(jar.as_uri() for jar in jars(CONNECTOR)),
        "execution.checkpointing.dir": (run.folder / "checkpoints").as_uri(),
        "io.tmp.dirs": str(run.folder),
        "rest.bind-port": str(port),
    }
    command = job_command(*PYTHON, run, {**settings, **run_settings})
    return running_engine(NAME, command, run, lambda: _all_tasks_run(port))


def _all_tasks_run(port: int) -> bool:
    """Return whether all tasks run. Flink reports a job as running before its tasks run."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"http://127.0.0.1:{port}/jobs/overview", timeout=PROBE_SECONDS) as response:
            jobs = json.load(response)["jobs"]
    except (OSError, ValueError):
        return False
    return bool(jobs) and all(job["tasks"]["running"] == job["tasks"]["total"] > 0 for job in jobs)


FLINK = OtherEngine(NAME, (PYTHON[1], *pinned(CONNECTOR)), settings, prepare, flink)
