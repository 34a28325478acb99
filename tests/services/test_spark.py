"""
Sessions are private, start fast, and do not start a process for each file that they create.

Python workers of the driver connect to Spark before their imports, which can take longer than Spark waits.
"""

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from stat import filemode
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from spark_rtm.services.folders import run_folder
from spark_rtm.services.java import class_archive_options, java_home
from spark_rtm.services.spark import WORKER_START, archive, class_path

RPC_REQUEST, RPC_FAILURE = 3, 5
SETTINGS = "<configuration><property><name>fs.file.impl</name><value>{}</value></property></configuration>"
# PySpark imports this module of the standard library. The folder comes before the standard library on the path.
MODULE = "pstats.py"
NOTE_CONNECTION = f"""
import os, sysconfig
if port := os.environ.get("PYTHON_WORKER_FACTORY_PORT"):
    import psutil
    connected = [connection.raddr.port for connection in psutil.Process().net_connections() if connection.raddr]
    with open(os.path.join(os.path.dirname(__file__), "is_connected"), "a") as notes:
        print(int(port) in connected, file=notes)
file = os.path.join(sysconfig.get_path("stdlib"), "{MODULE}")
exec(compile(open(file).read(), file, "exec"))
"""

pytestmark = [pytest.mark.spark, pytest.mark.timeout(200)]


def reply_without_secret(port: int) -> tuple[int, bytes]:
    """Send a message to one of Spark's ports without knowing the secret, and return the type and text of the reply."""
    body = b"a message without authentication"
    frame = struct.pack(">bqi", RPC_REQUEST, 1, len(body)) + body
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(struct.pack(">q", len(frame) + 8) + frame)
        with connection.makefile("rb") as replies:
            (length,) = struct.unpack(">q", replies.read(8))
            reply = replies.read(length - 8)
    return reply[0], reply[1:]


def test_program_without_the_secret_is_refused(spark: SparkSession) -> None:
    kind, text = reply_without_secret(int(spark.conf.get("spark.driver.port") or ""))

    assert RPC_FAILURE == kind
    assert b"challenge" in text or b"SaslMessage" in text


def test_session_loads_its_classes_from_the_archive(spark: SparkSession) -> None:
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr] # noqa: SLF001 - no public API

    assert str(archive()) in Path(f"/proc/{pid}/maps").read_text()


def test_files_of_the_session_are_private(spark: SparkSession) -> None:
    spark.range(1_000).repartition(2).count()

    java: str = spark._jvm.System.getProperty("java.io.tmpdir")  # type: ignore[union-attr] # noqa: SLF001 - not public
    assert run_folder() == Path(java).parent == Path(spark.conf.get("spark.local.dir") or "").parent
    assert [*run_folder().glob("spark-*/blockmgr-*")]
    assert 0 == run_folder().stat().st_mode & 0o007


def test_full_disk_lost_executor_and_failed_task_are_logged(spark: SparkSession) -> None:
    """The error of a task is printed once, because the query may raise that of another task."""
    manager = spark._jvm.org.apache.logging.log4j.LogManager  # type: ignore[union-attr] # noqa: SLF001 - not public
    names = (
        "storage.DiskBlockObjectWriter",
        "scheduler.TaskSchedulerImpl",
        "scheduler.TaskSetManager",
        "executor.Executor",
    )

    printed = [manager.getLogger(f"org.apache.spark.{name}").isErrorEnabled() for name in names]

    assert [True, True, False, True] == printed


@pytest.mark.parametrize("implementation", ["spark_rtm.LocalFiles", "org.apache.hadoop.fs.LocalFileSystem"])
def test_only_the_default_file_system_of_hadoop_needs_chmod(tmp_path: Path, implementation: str) -> None:
    """Hadoop's own file system starts `chmod` for each new file if its native library is missing; ours does not."""
    file = tmp_path / "file"
    (tmp_path / "core-site.xml").write_text(SETTINGS.format(implementation))
    options = [*class_archive_options(archive()), "-cp", f"{class_path()}:{tmp_path}"]
    command = [str(java_home() / "bin" / "java"), *options]
    command += ["org.apache.hadoop.fs.FsShell", "-touchz", f"file:{file}"]

    environment = {"PATH": str(tmp_path)}
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)

    is_default = implementation != "spark_rtm.LocalFiles"
    assert (result.returncode != 0) == ('Cannot run program "chmod"' in result.stderr) == is_default, result.stderr
    assert is_default or "-rw-r--r--" == filemode(file.stat().st_mode)


class Echo(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        """Create no state."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
        yield from rows


def test_worker_connects_before_imports(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / MODULE).write_text(NOTE_CONNECTION)
    environment = spark.sparkContext.environment
    monkeypatch.setitem(environment, "PYTHONPATH", os.pathsep.join([environment["PYTHONPATH"], str(tmp_path)]))
    (tmp_path / "source").mkdir()
    (tmp_path / "source/rows.json").write_text('{"key": "a"}\n')
    rows = spark.readStream.schema("key string").json(str(tmp_path / "source")).groupBy("key")
    echo = rows.transformWithState(Echo(), "key string", "update", "none")
    writer = echo.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(tmp_path / "state"))

    assert writer.trigger(availableNow=True).start().awaitTermination(100)

    assert {"True"} == set((tmp_path / "is_connected").read_text().split())


def test_program_of_a_worker_needs_no_connection(tmp_path: Path) -> None:
    """A program inherits a worker's variables; it runs without Spark, and a hidden `sitecustomize` still runs."""
    (tmp_path / "sitecustomize.py").write_text("print('hidden')\n")
    path = os.pathsep.join([str(WORKER_START), str(tmp_path)])
    # No program can listen on port 0.
    variables = {"PYTHONPATH": path, "PYTHON_WORKER_FACTORY_PORT": "0", "PYTHON_WORKER_FACTORY_SECRET": "secret"}
    command = [sys.executable, "-c", "print('program')"]

    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=60, check=True
    )

    assert ("hidden\nprogram\n", "") == (done.stdout, done.stderr)
