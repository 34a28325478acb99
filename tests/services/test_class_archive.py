from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.services import LocalKafka, broker_jars, running
from spark_rtm.services.files import class_archive
from spark_rtm.services.kafka import archive_folder as broker_archive
from spark_rtm.services.spark import archive_folder as spark_archive

pytestmark = [pytest.mark.spark, pytest.mark.services]


def is_mapped(archive: Path, pid: int) -> bool:
    return str(archive) in Path(f"/proc/{pid}/maps").read_text()


def test_session_loads_its_classes_from_the_archive(spark: SparkSession) -> None:
    """The JVM has mapped the archive that `make setup` recorded."""
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr] # noqa: SLF001 - no public API

    assert is_mapped(spark_archive() / class_archive.ARCHIVE, pid)


def test_broker_loads_its_classes_from_the_archive() -> None:
    archive = broker_archive(broker_jars()) / class_archive.ARCHIVE
    with running(LocalKafka()) as broker:
        assert broker.child is not None
        assert is_mapped(archive, broker.child.pid)
