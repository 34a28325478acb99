"""The command prints its verdicts, ends with Ctrl-C, and leaves no process and no file behind."""

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
from tests.helpers import eventually

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(300)]

JOB = """\
from pyspark.sql import functions as F


def shouted(rows):
    return rows.select("key", F.upper(F.col("value").cast("string")).alias("value"))
"""


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Yield a folder for all temporary files of the command."""
    with tempfile.TemporaryDirectory(prefix="test-prove-") as folder:
        yield Path(folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the folder of a user's project, in which the command runs."""
    (tmp_path / "job.py").write_text(JOB)
    return tmp_path


def _start(project: Path, temporary: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(files.ROOT / "scripts/skills.py"), "prove", "job.py:shouted", *options]
    return subprocess.Popen(
        command,
        cwd=project,
        env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _left_behind(project: Path, temporary: Path, family: list[psutil.Process]) -> list[str]:
    alive = [f"process {process.pid}" for process in family if process.is_running() and process.status() != "zombie"]
    paths = [path for path in (*project.rglob("*"), *temporary.rglob("*")) if path.name != "job.py"]
    return alive + [str(path) for path in paths]


def test_command_prints_verdicts_and_leaves_nothing_behind(project: Path, temporary: Path) -> None:
    """The verdicts go to standard output and the progress to standard error; the project stays as it was."""
    options = ("--format", "json", "--duration", "1", "--rate", "20")
    with _start(project, temporary, *options) as process:
        printed, progress = process.communicate(timeout=240)

    verdicts = json.loads(printed)["verdicts"]
    assert {"good"} == {verdict["status"] for verdict in verdicts}, progress
    assert "starting a Kafka broker and Spark" in progress
    assert 0 == process.returncode
    assert [] == _left_behind(project, temporary, [])


def test_interrupt_ends_spark_and_the_broker(project: Path, temporary: Path) -> None:
    """After Ctrl-C in a terminal, the status is 130 and no process or file is left."""
    with _start(project, temporary, "--duration", "100") as process:
        assert process.stderr
        for line in process.stderr:
            if "records/s" in line:
                break
        family = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)

    assert len(family) >= 3
    assert 130 == process.returncode, errors
    assert "Traceback" not in errors
    eventually(lambda: not _left_behind(project, temporary, family), 30, "the end of all processes")


def test_wrong_usage_is_reported_without_a_start(project: Path, temporary: Path) -> None:
    """A function that does not exist ends the command at once with status 2 and the names that exist."""
    with _start(project, temporary, "--samples", "nothing=here.jsonl") as process:
        _, errors = process.communicate(timeout=60)

    assert 2 == process.returncode
    assert "NAME is rows" in errors
    assert [] == _left_behind(project, temporary, [])
