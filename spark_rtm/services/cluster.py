"""
Run a Spark standalone cluster on this machine: a master and workers from the PySpark package, as child processes.

Only programs with the cluster's secret can connect. Real-time mode runs all tasks of a query at the same time, so the
cluster needs enough task slots in total. As on any other cluster, the workers have neither this checkout nor its Python
packages, so a job must send both with `job_confs`.
"""

import json
import os
import secrets
import shlex
import shutil
import sysconfig
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from spark_rtm.services import job_archive
from spark_rtm.services.child import Child, free_ports, start_child, wait_until_ready
from spark_rtm.services.folders import cached_folder, jvm_folder, new_folder
from spark_rtm.services.java import class_archive_options, java_home
from spark_rtm.services.scala import SPARK_HOME
from spark_rtm.services.spark import archive, class_path

HOST = "127.0.0.1"
WORKER_MEMORY = "2g"
DAEMON_HEAP = "-Xmx256m"
START_TIMEOUT_SECONDS = 60.0
PROBE_TIMEOUT_SECONDS = 2.0
SECRET_BYTES = 32
SCALA_VERSION = "2.13"
# Variables that would pass this process's environment to the workers.
OWN_VARIABLES = ("SPARK_", "PYSPARK_", "PYTHON", "VIRTUAL_ENV")


def _write_properties(folder: Path) -> Path:
    """Write the cluster's settings, including a new secret, to a file, and return the file's path."""
    # Every user of this machine can read a process's command line, so the secret is in a file.
    properties = folder / "cluster.conf"
    properties.touch(mode=0o600)
    properties.write_text(
        f"spark.authenticate true\nspark.authenticate.secret {secrets.token_hex(SECRET_BYTES)}\n"
        # After SIGPWR, a worker then completes its running tasks, but accepts no new tasks.
        f"spark.local.dir {folder / 'local'}\nspark.decommission.enabled true\n"
    )
    return properties


def _environment() -> dict[str, str]:
    """Return the workers' environment, without variables that select another Spark or this process's Python."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN_VARIABLES)}
    return {
        **kept,
        "JAVA_HOME": str(java_home()),
        # Workers pass this variable to the executors.
        "JDK_JAVA_OPTIONS": f'{kept.get("JDK_JAVA_OPTIONS", "")} "-Djava.io.tmpdir={jvm_folder()}"',
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": HOST,
        # Spark's scripts set this variable, and a worker cannot start an executor without it.
        "SPARK_SCALA_VERSION": SCALA_VERSION,
    }


def job_confs(*packages: str) -> dict[str, str]:
    """
    Return settings that send code and the Python workers' packages to a cluster.

    The code consists of `spark_rtm` and the given packages. The settings have the same effect as the `--py-files`,
    `--archives` and `--conf` options of `spark-submit`.
    """
    name = f"job/{job_archive.packages_id()}"
    packages_archive = job_archive.PACKAGES_ARCHIVE
    folder = cached_folder(name, lambda folder: job_archive.write_packages_archive(folder / packages_archive))
    code = job_archive.write_code_archive(new_folder("job") / job_archive.CODE_ARCHIVE, packages)
    return {
        "spark.submit.pyFiles": str(code),
        "spark.archives": f"{folder / packages_archive}#{job_archive.PACKAGES_FOLDER}",
        "spark.executorEnv.PYTHONPATH": job_archive.PACKAGES_FOLDER,
    }


def _alive_workers(web_port: int) -> int | None:
    """Return the number of registered workers from the master's web page, or None if the page does not respond."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"http://{HOST}:{web_port}/json/", timeout=PROBE_TIMEOUT_SECONDS) as page:
            return int(json.load(page)["aliveworkers"])
    except (OSError, ValueError):
        return None


def _start(name: str, properties: Path, *arguments: str) -> Child:
    """Start a master or worker without Spark's scripts, which would start another JVM without the class archive."""
    java = [str(java_home() / "bin" / "java"), *class_archive_options(archive()), DAEMON_HEAP, "-cp", class_path()]
    command = [*java, f"org.apache.spark.deploy.{arguments[0]}", "--host", HOST, "--properties-file", str(properties)]
    log_path = properties.with_name(f"{name.replace(' ', '-')}.log")
    return start_child(name, [*command, *arguments[1:]], log_path=log_path, env=_environment())


def _variables(properties: Path, python: Path) -> dict[str, str]:
    """Return environment variables that pass the cluster's settings and the workers' Python to PySpark's JVMs."""
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
    own_packages = [os.environ.get("PYTHONPATH"), sysconfig.get_path("purelib")]
    return {
        "PYSPARK_SUBMIT_ARGS": f"--properties-file {shlex.quote(str(properties))} {arguments}",
        "PYSPARK_PYTHON": str(python),
        # When a query with a state processor starts, Spark also runs the workers' Python on the driver, where this
        # Python needs the driver's packages.
        "PYTHONPATH": os.pathsep.join(filter(None, own_packages)),
    }


@contextmanager
def standalone_cluster(workers: int = 2, cores_per_worker: int = 4) -> Iterator[str]:
    """
    Start a cluster, yield the master's URL when all workers are registered, and stop the cluster after the block.

    Each worker has `cores_per_worker` task slots and 2 GiB of memory, regardless of the machine. The Python workers'
    environment has no packages, so a job must send its code and packages with `job_confs`. Jars outside Spark belong in
    `spark.jars`. The block sets three environment variables. `PYSPARK_SUBMIT_ARGS` passes the secret to the first
    session of this process and of each child process. A session without the secret cannot use the cluster.
    `PYSPARK_PYTHON` is the workers' Python. On the driver, `PYTHONPATH` makes this environment's packages available to
    the workers' Python. Raises RuntimeError with the end of a log if the cluster does not start within 60 s.
    """
    folder = new_folder("cluster")
    properties = _write_properties(folder)
    port, web_port, *worker_ports = free_ports(2 + workers)
    url = f"spark://{HOST}:{port}"
    with ExitStack() as cleanup:
        cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        master = _start("Spark master", properties, "master.Master", "--port", str(port), "--webui-port", str(web_port))
        cleanup.callback(master.stop)
        wait_until_ready(master, lambda: _alive_workers(web_port) is not None, START_TIMEOUT_SECONDS)
        slots = ["--cores", str(cores_per_worker), "--memory", WORKER_MEMORY, "--work-dir", str(folder / "work")]
        for number, worker_port in enumerate(worker_ports, start=1):
            arguments = ["worker.Worker", *slots, "--webui-port", str(worker_port), url]
            cleanup.callback(_start(f"Spark worker {number}", properties, *arguments).stop)
        wait_until_ready(master, lambda: _alive_workers(web_port) == workers, START_TIMEOUT_SECONDS)
        venv.create(folder / "python", symlinks=True)
        cleanup.enter_context(patch.dict(os.environ, _variables(properties, folder / "python" / "bin" / "python")))
        yield url
