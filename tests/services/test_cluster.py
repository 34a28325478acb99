"""A local cluster is complete when its block starts, stopped when it ends, and refuses programs without its secret."""

import os
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from examples.services.cluster import standalone_cluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(200)]

ASK_MASTER = ("org.apache.spark.deploy.Client", "kill")
UNKNOWN_DRIVER = "driver-unknown"


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Yield the URL of a cluster."""
    with standalone_cluster(workers=2, cores_per_worker=2) as url:
        yield url


def _accepts(url: str) -> bool:
    host, port = url.removeprefix("spark://").split(":")
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex((host, int(port))) == 0


def _secret() -> str:
    defaults = Path(os.environ["SPARK_CONF_DIR"]) / "spark-defaults.conf"
    assert 0o600 == defaults.stat().st_mode & 0o777
    (secret,) = re.findall(r"^spark.authenticate.secret (\w{64})$", defaults.read_text(), re.MULTILINE)
    return str(secret)


def _is_answered(url: str, folder: Path, secret: str) -> bool:
    """Ask the master to end an unknown driver, as a program does that wants to command the cluster."""
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    authenticate = {"_SPARK_AUTH_SECRET": secret, "JDK_JAVA_OPTIONS": "-Dspark.authenticate=true"} if secret else {}
    environment = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"} | authenticate
    command = [str(program), "org.apache.spark.deploy.Client", "kill", url, "driver-unknown"]
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    return "driver-unknown has already finished or does not exist" in result.stdout + result.stderr


def test_cluster_ends_with_its_block() -> None:
    """The master accepts connections only inside the block; the pipeline's test shows that jobs run on it."""
    before = os.environ.get("SPARK_CONF_DIR")
    with standalone_cluster(workers=1, cores_per_worker=2) as url:
        inside = _accepts(url)

    assert inside
    assert before == os.environ.get("SPARK_CONF_DIR")
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
