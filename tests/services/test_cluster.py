"""A local cluster is complete when its block starts, stopped when it ends, and refuses programs without its secret."""

import os
import re
import shlex
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from examples.services.cluster import standalone_cluster
from examples.services.files import class_archive
from examples.services.java import java_home
from examples.services.spark import archive_folder, class_path

pytestmark = [pytest.mark.spark, pytest.mark.timeout(200)]

ASK_MASTER = ("org.apache.spark.deploy.Client", "kill")
UNKNOWN_DRIVER = "driver-unknown"


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Yield the URL of a cluster."""
    with standalone_cluster(workers=1, cores_per_worker=2) as url:
        yield url


def _accepts(url: str) -> bool:
    host, port = url.removeprefix("spark://").split(":")
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex((host, int(port))) == 0


def _secret() -> str:
    _, properties, _ = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
    assert 0o600 == Path(properties).stat().st_mode & 0o777
    (secret,) = re.findall(r"^spark.authenticate.secret (\w{64})$", Path(properties).read_text(), re.MULTILINE)
    return str(secret)


def _is_answered(url: str, folder: Path, secret: str) -> bool:
    """Ask the master to end an unknown driver, as a program does that wants to command the cluster."""
    options = [*class_archive.using(archive_folder()), *(["-Dspark.authenticate=true"] if secret else [])]
    command = [str(java_home() / "bin" / "java"), *options, "-cp", class_path(), *ASK_MASTER, url, UNKNOWN_DRIVER]
    environment = {**os.environ, **({"_SPARK_AUTH_SECRET": secret} if secret else {})}
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return f"{UNKNOWN_DRIVER} has already finished or does not exist" in result.stdout + result.stderr


def test_cluster_ends_with_its_block() -> None:
    """The master accepts connections only inside the block; the pipeline's test shows that jobs run on it."""
    before = os.environ.get("PYSPARK_SUBMIT_ARGS")
    with standalone_cluster(workers=1, cores_per_worker=2) as url:
        inside = _accepts(url)

    assert inside
    assert before == os.environ.get("PYSPARK_SUBMIT_ARGS")
    assert not _accepts(url)


def test_program_without_the_secret_cannot_command_the_cluster(cluster: str, tmp_path: Path) -> None:
    """The master answers a program that knows the secret, and refuses programs with another secret or with none."""
    answers = [_is_answered(cluster, tmp_path, secret) for secret in (_secret(), "guessed", "")]

    assert [True, False, False] == answers


def test_secret_is_on_no_command_line(cluster: str) -> None:
    """Other users of the machine cannot read the secret from the list of processes."""
    listing = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True).stdout

    assert cluster in listing
    assert _secret() not in listing


def test_workers_load_their_classes_from_the_archive(cluster: str) -> None:
    """The class path of the JVMs is that of the archive, so they start in half the time."""
    workers = [
        process.pid
        for process in psutil.process_iter(["name", "cmdline"])
        if process.info["name"] == "java" and cluster in process.info["cmdline"]
    ]

    assert 1 == len(workers)
    assert str(archive_folder()) in Path(f"/proc/{workers[0]}/maps").read_text()
