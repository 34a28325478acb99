"""
Flink as an engine of the benchmarks: SQL through its Table API, in one process with everything that a cluster has.

A run arrives; a process of which all tasks run leaves.
Its own default holds outputs back for up to 100 ms to fill a buffer, which real-time mode is set not to do either.
"""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from examples.benchmarks.harness.engine import Engine, Run
from examples.benchmarks.other_engines.engine import Peer, supervised
from examples.benchmarks.other_engines.maven import jars, pinned
from examples.benchmarks.other_engines.venv import Tell, is_made, python_with
from examples.services.child import free_ports

NAME, CONNECTOR = "Flink", "flink_connector"
REQUIREMENTS = ("apache-flink==2.3.0",)
JOB = Path(__file__).with_name("flink_job.py")
PROBE_SECONDS = 2.0
SETTINGS = {
    "execution.buffer-timeout.interval": "0 ms",
    "execution.checkpointing.interval": "30 s",
    "state.backend.type": "hashmap",
    # A failure must end the run, and not be hidden by a restart.
    "restart-strategy.type": "none",
}


def fetch(tell: Tell) -> None:
    """Install Flink with Python's interface to it, and fetch its connector."""
    if not is_made(REQUIREMENTS):
        tell(f"{NAME}: installing {', '.join(REQUIREMENTS)}, about 450 MB to fetch and 850 MB on disk, once")
    python_with(REQUIREMENTS, lambda line: tell(f"{NAME}: {line}"))
    jars(CONNECTOR)


@contextmanager
def flink(run: Run) -> Iterator[Engine]:
    """Yield Flink at work; state is on the heap."""
    port = free_ports(1)[0]
    own = {
        "parallelism.default": str(run.partitions),
        "taskmanager.numberOfTaskSlots": str(run.partitions),
        "pipeline.jars": ";".join(jar.as_uri() for jar in jars(CONNECTOR)),
        "execution.checkpointing.dir": (run.folder / "checkpoints").as_uri(),
        "io.tmp.dirs": str(run.folder),
        "rest.bind-port": str(port),
    }
    names = ("bootstrap_servers", "source", "target", "rejected", "work")
    told = {name: getattr(run, name) for name in names} | {"settings": SETTINGS | own}
    command = [str(python_with(REQUIREMENTS)), "-I", str(JOB), json.dumps(told)]
    with supervised(NAME, command, run, lambda: _all_tasks_run(port)) as engine:
        yield engine


def _all_tasks_run(port: int) -> bool:
    """Ask Flink's own page; a job counts as running before its tasks do."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"http://127.0.0.1:{port}/jobs/overview", timeout=PROBE_SECONDS) as page:
            jobs = json.load(page)["jobs"]
    except (OSError, ValueError):
        return False
    return bool(jobs) and all(job["tasks"]["running"] == job["tasks"]["total"] > 0 for job in jobs)


FLINK = Peer(NAME, (*REQUIREMENTS, *pinned(CONNECTOR)), SETTINGS, fetch, flink)
