import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.services import LocalKafka, broker_jars, running
from spark_rtm.services.cache import cache_root
from spark_rtm.services.files import class_archive
from spark_rtm.services.java import java_home
from spark_rtm.services.kafka import archive_folder as broker_archive
from spark_rtm.services.spark import archive_folder as spark_archive
from spark_rtm.services.spark import record_classes

pytestmark = [pytest.mark.spark, pytest.mark.services]


def is_mapped(archive: Path, pid: int) -> bool:
    return str(archive) in Path(f"/proc/{pid}/maps").read_text()


def test_session_loads_its_classes_from_the_archive(spark: SparkSession) -> None:
    """The JVM has mapped the archive that `make setup` recorded."""
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr] # noqa: SLF001 - no public API

    assert is_mapped(spark_archive() / class_archive.ARCHIVE, pid)


def test_classes_are_not_recorded_beside_a_session(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recording ends the JVM of its process, so it refuses to end the JVM of a session that is in use."""
    (tmp_path / "scala").symlink_to(cache_root() / "scala")
    monkeypatch.setenv("RTM_CACHE", str(tmp_path))

    with pytest.raises(RuntimeError, match="already has a Spark session"):
        record_classes()

    assert 1 == spark.range(1).count()


@pytest.fixture(scope="module")
def foreign() -> Iterator[LocalKafka]:
    """Yield a broker whose option names the archive of Spark."""
    options = class_archive.using(spark_archive())
    assert options
    with running(LocalKafka(archive_options=options)) as broker:
        yield broker


def test_broker_loads_its_classes_from_the_archive(foreign: LocalKafka) -> None:
    """The JVM has mapped the archive, and a JVM without the option for it has not."""
    archive = broker_archive(broker_jars()) / class_archive.ARCHIVE
    with running(LocalKafka()) as broker:
        assert broker.child is not None
        assert foreign.child is not None
        assert is_mapped(archive, broker.child.pid)
        assert not is_mapped(archive, foreign.child.pid)


def test_broker_starts_with_a_foreign_archive(foreign: LocalKafka) -> None:
    """A JVM that cannot use an archive starts normally and prints no warning."""
    assert foreign.child is not None
    assert foreign.child.is_running()
    assert class_archive.ARCHIVE not in foreign.log_path.read_text()


def test_jvm_starts_with_a_file_that_is_no_archive(tmp_path: Path) -> None:
    """A damaged file in the cache does not keep a JVM from starting."""
    (tmp_path / class_archive.ARCHIVE).write_bytes(b"not an archive")
    tmp_path.parent.chmod(0o755)
    command = [str(java_home() / "bin" / "java"), *class_archive.using(tmp_path), "-version"]

    started = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert (0, False) == (started.returncode, class_archive.ARCHIVE in started.stdout + started.stderr)


def test_missing_archive_is_an_error(tmp_path: Path) -> None:
    """Otherwise, the cache would keep an empty folder, and no later run would record the classes."""
    with pytest.raises(RuntimeError, match="wrote no archive"):
        class_archive.require(tmp_path)

    (tmp_path / class_archive.ARCHIVE).touch()
    class_archive.require(tmp_path)


def test_changed_jar_has_another_archive(tmp_path: Path) -> None:
    """The folder of the archive depends on the size and the time of each jar, so an update records a new archive."""
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"old")
    before = class_archive.archive_folder(cache_root(), "spark", java_home(), [jar])
    shutil.copy(__file__, jar)

    assert before != class_archive.archive_folder(cache_root(), "spark", java_home(), [jar])
    assert [] == class_archive.using(before)
