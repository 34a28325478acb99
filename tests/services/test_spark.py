import socket
import struct
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.services.files import class_archive
from spark_rtm.services.files.run_folder import run_folder
from spark_rtm.services.spark import archive_folder

RPC_REQUEST, RPC_FAILURE = 3, 5
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
