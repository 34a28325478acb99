"""
A local cluster is complete when its block starts, stopped when it ends, and needs a secret.

Its workers have no part of this checkout, so the page's command sends everything.
"""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.pack import files
from spark_rtm.services import job_archive
from spark_rtm.services.cluster import job_confs, standalone_cluster
from spark_rtm.services.java import java_home
from spark_rtm.services.spark import control_jar
from tests.pages.examples import spark_submit_of
from tests.services.test_spark import RPC_FAILURE, reply_without_secret

pytestmark = [pytest.mark.spark, pytest.mark.timeout(200)]

SCALA = files.ROOT / "tests/pages/functions.scala"


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Yield the master's URL. After the block, the master is gone, and the environment is as before."""
    before = dict(os.environ)
    with standalone_cluster(workers=1, cores_per_worker=2) as url:
        yield url
    assert before == dict(os.environ)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])))


def _secret() -> str:
    _, properties, _ = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
    assert 0o600 == Path(properties).stat().st_mode & 0o777
    (secret,) = re.findall(r"^spark.authenticate.secret (\w{64})$", Path(properties).read_text(), re.MULTILINE)
    return str(secret)


def test_program_without_the_secret_cannot_command_the_cluster(cluster: str) -> None:
    kind, text = reply_without_secret(int(cluster.rpartition(":")[2]))

    assert RPC_FAILURE == kind
    assert b"challenge" in text or b"SaslMessage" in text


def test_secret_is_on_no_command_line(cluster: str) -> None:
    listing = subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True).stdout

    assert cluster in listing
    assert _secret() not in listing


REPORT = """
import json, sys
from pathlib import Path
from pyspark.sql import DataFrame, SparkSession
from spark_rtm.realtime.python_state import with_python
from spark_rtm.services.scala import SPARK_HOME, scala_object

def seen(_):
    import os, sys
    import google.protobuf, pandas, pyarrow
    import examples.attribution.credit.processor as processor
    paths = [os.path.abspath(module.__file__) for module in (processor, google.protobuf, pandas, pyarrow)]
    return [{"folder": os.getcwd(), "python": sys.executable, "path": sys.path, "files": paths}]

spark = SparkSession.builder.getOrCreate()
doubled = with_python(spark.range(3), lambda row: {"id": 2 * row.id}, "id long")
functions = scala_object(spark, Path(sys.argv[1]), "row_functions.Functions")
marked = DataFrame(functions.mapPartitions(doubled.selectExpr("string(id) as k")._jdf), spark)
report = spark.sparkContext.parallelize([0], 1).mapPartitions(seen).first()
compilers = [jar.name for jar in SPARK_HOME.glob("jars/scala-compiler-*.jar")]
print(json.dumps({**report, "marked": sorted(row.k for row in marked.collect()), "compilers": compilers}))
"""


@pytest.mark.timeout(300)
def test_workers_get_everything_through_spark_submit(cluster: str, tmp_path: Path) -> None:
    """A worker in another process also gets compiled classes. The driver, which adds them, finds the compiler."""
    words = shlex.split(spark_submit_of("production.md"))
    options = words[words.index("--py-files") : words.index("examples/attribution/demo/__main__.py")]
    confs = job_confs("examples")
    archives = {
        f"dist/{job_archive.CODE_ARCHIVE}": confs["spark.submit.pyFiles"],
        f"dist/{job_archive.PACKAGES_ARCHIVE}#packages": confs["spark.archives"],
    }
    _, properties, _ = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
    program = tmp_path / "report.py"
    program.write_text(REPORT)
    command = [str(Path(sys.executable).parent / "spark-submit"), "--master", cluster, "--properties-file", properties]
    command += ["--jars", str(control_jar()), "--conf", "spark.ui.enabled=false"]
    command += [*(archives.get(word, word) for word in options), str(program), str(SCALA)]
    own = {"JAVA_HOME": str(java_home()), "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

    result = subprocess.run(
        command, cwd=tmp_path, env=os.environ | own, capture_output=True, text=True, check=False, timeout=240
    )

    # The launcher prints the errors of the Python program on its standard output.
    assert 0 == result.returncode, result.stdout + result.stderr
    seen = json.loads(result.stdout.splitlines()[-1])
    assert seen["python"] == os.environ["PYSPARK_PYTHON"] != sys.executable
    assert "/work/app-" in seen["folder"]
    assert ["0!", "2!", "4!"] == seen["marked"]
    assert 1 == len(seen["compilers"])
    assert all(file.startswith(f"{seen['folder']}/") for file in seen["files"]), seen["files"]
    # Spark's own modules are in archives inside Spark's installation folder.
    folders = [entry for entry in seen["path"] if not entry.endswith((".zip", ".jar"))]
    assert [] == [entry for entry in folders if entry.startswith((str(files.ROOT), sys.prefix))]


CONFIGURED = """
import sys
from spark_rtm.services.spark import build_session

spark = build_session("configured", master=sys.argv[1])
print(spark.sparkContext._jsc.hadoopConfiguration().get("test.property"))
"""


@pytest.mark.parametrize("is_local", [False, True], ids=["cluster", "local"])
def test_configuration_of_the_machine_is_only_for_clusters(cluster: str, tmp_path: Path, is_local: bool) -> None:
    property_ = "<property><name>test.property</name><value>read</value></property>"
    (tmp_path / "core-site.xml").write_text(f"<configuration>{property_}</configuration>")
    command = [sys.executable, "-c", CONFIGURED, "local[1]" if is_local else cluster]

    result = subprocess.run(
        command, env=os.environ | {"HADOOP_CONF_DIR": str(tmp_path)}, capture_output=True, text=True, check=True
    )

    assert ("None" if is_local else "read") == result.stdout.strip(), result.stderr
