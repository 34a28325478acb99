import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from scripts.pack import files
from spark_rtm.prove.verdicts import CHECKS
from tests.helpers import eventually, is_alive

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]

JOB = """\
import os
import subprocess
import threading

subprocess.Popen(["sleep", "987654"], start_new_session=True)
subprocess.run(["echo", "a program of the job"])
os.write(1, b"a line of the job")
threading.Thread(target=threading.Event().wait).start()
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
assert os.environ["NAME_NODE"] in ("file:///", "hdfs://" + os.environ["KAFKA_BOOTSTRAP_SERVERS"])
spark.sparkContext._jsc.hadoopConfiguration().set("fs.defaultFS", os.environ["NAME_NODE"])
servers = {"kafka.bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]}
rows = spark.readStream.format("kafka").options(**servers, subscribe="words").load()
shouted = rows.select(F.expr("left(key, 99) key"), F.expr("left(upper(cast(value as string)), 100000) || uuid() value"))
writer = shouted.writeStream.format("kafka").options(**servers, topic="shouts", checkpointLocation="/mnt/checkpoint")
writer.queryName("shouts").outputMode("update").trigger(realTime="5 minutes").start().awaitTermination()
"""
CORE_SITE = "<configuration><property><name>fs.defaultFS</name><value>{}</value></property></configuration>"
NO_CLUSTER = {"NAME_NODE": "file:///"}


@pytest.fixture
def temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="test-prove-") as folder:
        yield Path(folder)


@dataclass(frozen=True)
class Machine:
    """The configuration of a machine from which a cluster can be reached."""

    variables: dict[str, str]
    events: Path
    name_node: socket.socket

    def is_reached(self) -> bool:
        """Return whether a program has written an event log or connected to the name node."""
        try:
            self.name_node.accept()
        except BlockingIOError:
            return bool([*self.events.iterdir()])
        return True


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    conf, events = tmp_path_factory.mktemp("conf"), tmp_path_factory.mktemp("events")
    with socket.create_server(("127.0.0.1", 0)) as name_node:
        name_node.settimeout(0)
        address = f"hdfs://127.0.0.1:{name_node.getsockname()[1]}"
        (conf / "core-site.xml").write_text(CORE_SITE.format(address))
        settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri()}
        settings |= {"spark.extraListeners": "no.such.Listener", "spark.sql.extensions": "no.such.Extension"}
        (conf / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        folders = dict.fromkeys(
            ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH"), str(conf)
        )
        submit = "--conf spark.sql.extensions=no.such.Extension pyspark-shell"
        servers = {"KAFKA_BOOTSTRAP_SERVERS": address.removeprefix("hdfs://")}
        remote = servers | {
            "SPARK_REMOTE": address.replace("hdfs", "sc"),
            "PYSPARK_SUBMIT_ARGS": submit,
            "NAME_NODE": address,
        }
        yield Machine(folders | remote, events, name_node)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "job.py").write_text(JOB)
    return tmp_path


def _start(
    project: Path, temporary: Path, *options: str, variables: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if name != "KAFKA_BOOTSTRAP_SERVERS"}
    command = [sys.executable, str(files.ROOT / "scripts/skills.py"), "prove", "job.py", *options]
    return subprocess.Popen(
        command,
        cwd=project,
        env={**kept, "TMPDIR": str(temporary), "PYTHONPATH": "", **(variables or NO_CLUSTER)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def _left_behind(project: Path, temporary: Path, family: list[psutil.Process]) -> list[str]:
    sleeping = [process for process in psutil.process_iter() if "987654" in _words(process)]
    alive = [f"process {process.pid}" for process in [*family, *sleeping] if is_alive(process.pid)]
    paths = [path for path in (*project.rglob("*"), *temporary.rglob("*")) if path.name != "job.py"]
    return alive + [str(path) for path in paths]


def test_command_prints_verdicts_and_leaves_nothing_behind(project: Path, temporary: Path, machine: Machine) -> None:
    """
    The verdicts go to standard output and the progress to standard error; the project stays as it was.

    The configuration of the machine names a cluster, and the job selects it; `prove` does not reach it.
    """
    checks = [check for check in CHECKS if check not in {"login", "expect", "input"}]
    options = ("--format", "json", "--duration", "1", "--rate", "20", "--only", ",".join(checks))
    with _start(project, temporary, *options, variables=machine.variables) as process:
        printed, progress = process.communicate(timeout=240)

    verdicts = {verdict["check"]: verdict for verdict in json.loads(printed)["verdicts"]}
    assert not machine.is_reached(), progress
    assert checks == list(verdicts), printed + progress
    restart = verdicts.pop("restart")
    assert {"good"} == {verdict["status"] for verdict in verdicts.values()}, printed
    assert "killed during a batch and restarted on the same checkpoint: 0 results lost" in restart["evidence"]
    assert "with different bytes" in restart["evidence"]
    assert "derive every result from its source record alone" in restart["fix"]
    assert ("job.py", 1 + JOB[: JOB.index("writer.queryName")].count("\n")) == (restart["path"], restart["line"])
    assert "the code of job.py will run twice, and once more for each query" in progress.splitlines()[0]
    assert "starting a Kafka broker and Spark" in progress
    assert 1 == process.returncode
    assert [] == _left_behind(project, temporary, [])


ENDS = """\
import os, subprocess
subprocess.Popen(["sleep", "987654"], start_new_session=True)
os._exit(7)
"""


def test_job_that_ends_its_process_is_named(project: Path, temporary: Path) -> None:
    """A job cannot end `prove` silently, and cannot leave a process behind."""
    (project / "job.py").write_text(ENDS)
    with _start(project, temporary) as process:
        _, progress = process.communicate(timeout=240)

    assert 2 == process.returncode
    assert "prove could not run this: job.py ended the process of prove with status 7" in progress
    assert [] == _left_behind(project, temporary, [])


@pytest.mark.parametrize(
    ("options", "step"),
    [(("--only", "restart"), "killing the query"), (("--against", "job.py"), "running both jobs")],
    ids=["restart", "against"],
)
def test_interrupt_ends_spark_and_the_broker(
    project: Path, temporary: Path, options: tuple[str, ...], step: str
) -> None:
    """After Ctrl-C, the status is 130, and all processes and files are gone, also after a restart check."""
    with _start(project, temporary, *options) as process:
        assert process.stderr
        for line in process.stderr:
            if step in line:
                break
        family = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)

    # The broker, Spark, and the process whose query is killed, each with a JVM; the last two are not ready yet.
    assert len(family) >= 5
    assert 130 == process.returncode, errors
    assert "Traceback" not in errors
    eventually(lambda: not _left_behind(project, temporary, family), 30, "the end of all processes")


def test_interrupt_during_the_start_leaves_no_jvm(project: Path, temporary: Path) -> None:
    """PySpark has no handle on the starting JVM, so only the parent can end it; a second Ctrl-C does not wait."""
    with _start(project, temporary) as process:
        parent, family = psutil.Process(process.pid), list[psutil.Process]()

        def is_starting() -> bool:
            family[:] = parent.children(recursive=True)
            return any("org.apache.spark.deploy.SparkSubmit" in _words(child) for child in family)

        eventually(is_starting, 60, "the start of the JVM")
        for _ in range(2):
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)

    assert 130 == process.returncode, errors
    assert "Traceback" not in errors
    eventually(lambda: not _left_behind(project, temporary, family), 30, "the end of all processes")
