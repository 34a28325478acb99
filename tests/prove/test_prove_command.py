import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from scripts.pack import files
from spark_rtm.prove.verdicts.verdict import CHECKS
from tests.helpers import eventually, is_alive

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]

JOB = """\
import os
import subprocess
import threading

subprocess.Popen(["sleep", "987654"], start_new_session=True)
threading.Thread(target=threading.Event().wait).start()
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
servers = {"kafka.bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"]}
rows = spark.readStream.format("kafka").options(**servers, subscribe="words").load()
shouted = rows.select(F.expr("left(key, 99) key"), F.expr("left(upper(cast(value as string)), 100000) || uuid() value"))
writer = shouted.writeStream.format("kafka").options(**servers, topic="shouts", checkpointLocation="/mnt/checkpoint")
writer.queryName("shouts").outputMode("update").trigger(realTime="5 minutes").start().awaitTermination()
"""


@pytest.fixture
def temporary() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="test-prove-") as folder:
        yield Path(folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "job.py").write_text(JOB)
    return tmp_path


def _start(project: Path, temporary: Path, *options: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if name != "KAFKA_BOOTSTRAP_SERVERS"}
    command = [sys.executable, str(files.ROOT / "scripts/skills.py"), "prove", "job.py", *options]
    return subprocess.Popen(
        command,
        cwd=project,
        env={**kept, "TMPDIR": str(temporary), "PYTHONPATH": ""},
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


def test_command_prints_verdicts_and_leaves_nothing_behind(project: Path, temporary: Path) -> None:
    """The verdicts go to standard output and the progress to standard error; the project stays as it was."""
    checks = [check for check in CHECKS if check not in {"login", "expect", "input"}]
    options = ("--format", "json", "--duration", "1", "--rate", "20", "--only", ",".join(checks))
    with _start(project, temporary, *options) as process:
        printed, progress = process.communicate(timeout=240)

    verdicts = {verdict["check"]: verdict for verdict in json.loads(printed)["verdicts"]}
    assert checks == list(verdicts), printed
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


def test_interrupt_ends_spark_and_the_broker(project: Path, temporary: Path) -> None:
    """After Ctrl-C, the status is 130, and all processes and files are gone, also after a restart check."""
    with _start(project, temporary, "--only", "restart") as process:
        assert process.stderr
        for line in process.stderr:
            if "killing the query" in line:
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
