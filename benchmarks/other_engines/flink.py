"""Run Flink SQL on a cluster within one process. Output buffering, by default up to 100 ms, is turned off."""

import json
import subprocess
import sys
import urllib.request
import venv
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path

from benchmarks.harness.engine import Engine, Run
from benchmarks.other_engines.engine import OtherEngine, Settings, jars, pinned, running_engine
from spark_rtm.services.child import free_ports
from spark_rtm.services.folders import cached_folder

NAME, CONNECTOR, PACKAGE = "Flink", "flink_connector", "apache-flink==2.3.0"
FOLDER = Path(__file__).parent
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
    python_with_flink()
    jars(CONNECTOR)


def python_with_flink() -> Path:
    """
    Return the Python interpreter of an environment with the packages of `requirements/flink.txt`.

    The environment has the Python version of this process. If the installation fails, nothing remains in the cache, and
    the function raises RuntimeError with the reason.
    """
    lock = FOLDER / "requirements/flink.txt"

    def fill(folder: Path) -> None:
        print(f"installing {PACKAGE} once: downloads up to 450 MB and uses 850 MB of disk space", file=sys.stderr)
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
    digest = sha256(f"{PACKAGE}\n{lock.read_text()}\n{sys.version}\n{sys.base_prefix}".encode()).hexdigest()
    return cached_folder(f"environments/apache-flink-{digest[:16]}", fill) / "bin" / "python"


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
    names = ("bootstrap_servers", "source", "target", "rejected", "workload")
    argument = {name: getattr(run, name) for name in names} | {"settings": {**settings, **run_settings}}
    command = [str(python_with_flink()), "-I", str(FOLDER / "flink_job.py"), json.dumps(argument)]
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


FLINK = OtherEngine(NAME, (PACKAGE, *pinned(CONNECTOR)), settings, prepare, flink)
