import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from scripts.pack import files
from spark_rtm.services.child import start_child, wait_until_ready
from spark_rtm.services.files import class_archive
from spark_rtm.services.files.run_folder import run_folder
from spark_rtm.services.spark import archive_folder

RPC_REQUEST, RPC_FAILURE = 3, 5
START_SECONDS = 100
SHUFFLE_FOREVER = """
import sys
from pathlib import Path
from spark_rtm.services.files.run_folder import run_folder
from spark_rtm.services.spark import build_session

spark = build_session("shuffle", slots=2)
spark.range(1_000).repartition(2).count()
assert [*run_folder().glob("spark-*/blockmgr-*")] and [*run_folder().glob("jvm/artifacts-*")]
Path(sys.argv[1]).touch()
while True:
    spark.range(1_000).repartition(2).count()
"""
pytestmark = pytest.mark.spark


def _reply_without_secret(port: int) -> tuple[int, bytes]:
    """Send a message to a port of Spark as a program without the secret, and return the type and text of the reply."""
    body = b"a message without authentication"
    frame = struct.pack(">bqi", RPC_REQUEST, 1, len(body)) + body
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(struct.pack(">q", len(frame) + 8) + frame)
        with connection.makefile("rb") as replies:
            (length,) = struct.unpack(">q", replies.read(8))
            reply = replies.read(length - 8)
    return reply[0], reply[1:]


def test_program_without_the_secret_is_refused(spark: SparkSession) -> None:
    """Another user of the machine cannot send messages to the driver, because the session requires authentication."""
    kind, text = _reply_without_secret(int(spark.conf.get("spark.driver.port") or ""))

    assert RPC_FAILURE == kind
    assert b"challenge" in text or b"SaslMessage" in text


def test_session_loads_its_classes_from_the_archive(spark: SparkSession) -> None:
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr] # noqa: SLF001 - no public API

    assert str(archive_folder() / class_archive.ARCHIVE) in Path(f"/proc/{pid}/maps").read_text()


def test_files_of_the_session_are_private(spark: SparkSession) -> None:
    spark.range(1_000).repartition(2).count()

    java: str = spark._jvm.System.getProperty("java.io.tmpdir")  # type: ignore[union-attr] # noqa: SLF001 - not public
    assert run_folder() == Path(java).parent == Path(spark.conf.get("spark.local.dir") or "").parent
    assert [*run_folder().glob("spark-*/blockmgr-*")]
    assert 0 == run_folder().stat().st_mode & 0o007


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@pytest.mark.timeout(200)
def test_stopped_session_deletes_its_own_files(tmp_path: Path, temporary: Path) -> None:
    """A session deletes its files although a benchmark stops it with a signal."""
    ready = tmp_path / "ready"
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(files.ROOT)}
    command = [sys.executable, "-c", SHUFFLE_FOREVER, str(ready)]
    session = start_child("Spark", command, log_path=tmp_path / "log", env=environment)
    wait_until_ready(session, ready.exists, START_SECONDS)

    session.stop()

    assert [] == sorted(path.name for path in _files_of_spark(temporary))


def _files_of_spark(temporary: Path) -> Iterator[Path]:
    for pattern in ("**/blockmgr-*", "**/artifacts-*", "**/jvm/spark-*", "**/*.so"):
        yield from temporary.glob(pattern)


@pytest.mark.parametrize(
    ("logger", "is_printed"),
    [
        ("org.apache.spark.storage.DiskBlockObjectWriter", True),
        ("org.apache.spark.scheduler.TaskSchedulerImpl", True),
        ("org.apache.spark.scheduler.TaskSetManager", False),
        ("org.apache.spark.executor.Executor", False),
    ],
)
def test_full_disk_and_lost_executor_are_logged(spark: SparkSession, logger: str, is_printed: bool) -> None:
    """Errors of storage and scheduler are printed; the error of a task is not, because the query raises it."""
    loggers = spark._jvm.org.apache.logging.log4j.LogManager  # type: ignore[union-attr] # noqa: SLF001 - not public

    assert is_printed == loggers.getLogger(logger).isErrorEnabled()
