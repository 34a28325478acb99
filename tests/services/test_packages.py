import hashlib
import shutil
from pathlib import Path

import pytest

from benchmarks.other_engines.engine import IVY_FILES
from spark_rtm.services.packages import IVY_DIR, broker_jars, package_jars, pinned, read_checksums
from tests.helpers import ivy_settings

pytestmark = pytest.mark.spark

BROKER_JARS = ["kafka_2.13-4.4.0.jar", "slf4j-simple-1.7.36.jar"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that Ivy uses instead of the network; the cache is empty too."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.setenv("RTM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RTM_IVY_SETTINGS", str(ivy_settings(folder)))
    return folder


@pytest.fixture
def ivy_dir(tmp_path: Path) -> Path:
    """Return a copy of the broker's Ivy file with the checksums of the small jars that `_publish` writes."""
    folder = tmp_path / "ivy"
    folder.mkdir()
    shutil.copy(IVY_DIR / "broker.xml", folder)
    lines = (f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in BROKER_JARS)
    folder.joinpath("broker.sha256").write_text("".join(lines))
    return folder


@pytest.fixture
def cached(repository: Path, ivy_dir: Path) -> Path:
    """Return the first of the broker's jars in the cache."""
    _publish(repository, *BROKER_JARS)
    jars = broker_jars(ivy_dir)
    assert BROKER_JARS == _names_of(jars)
    return jars[0]


def _publish(repository: Path, *names: str) -> None:
    for name in names:
        repository.joinpath(name).write_bytes(name.encode())


def _names_of(jars: tuple[Path, ...]) -> list[str]:
    return [jar.name for jar in jars]


def test_no_network_and_no_cache_names_packages_and_remedies(repository: Path) -> None:
    with pytest.raises(RuntimeError) as failure:
        broker_jars()

    message = str(failure.value)
    assert "org.apache.kafka:kafka_2.13:4.4.0, org.slf4j:slf4j-simple:1.7.36" in message
    assert "so Kafka, Spark's Kafka source or Spark's Avro functions cannot start" in message
    assert "python -m spark_rtm.services packages" in message
    assert "RTM_IVY_SETTINGS" in message
    assert f"the cache {repository.parent / 'cache'}" in message
    assert "kafka_2.13;4.4.0: not found" in message


def test_packages_of_a_job_are_downloaded_once(repository: Path) -> None:
    """A coordinate yields its jar; jars of Spark and of the set-up are omitted, and the next call uses the cache."""
    _publish(repository, "commons-csv-1.11.0.jar", "snappy-java-1.0.jar")
    names = ["org.apache.commons:commons-csv:1.11.0", "org.xerial.snappy:snappy-java:1.0"]
    names.append("org.apache.spark:spark-avro_2.13:9.9.9")

    assert ["commons-csv-1.11.0.jar"] == _names_of(package_jars(names))
    shutil.rmtree(repository)
    assert ["commons-csv-1.11.0.jar"] == _names_of(package_jars(names))


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("coordinate", "message"),
    [
        ("com.example:none_2.13:1.0", "com.example:none_2.13:1.0, and they are not .*, so the job cannot use them"),
        ("com.example:old_2.12:1.0", "com.example:old_2.12:1.0: Spark 4 runs Scala 2.13"),
        ("spark-avro", "--packages spark-avro: write GROUP:ARTIFACT:VERSION"),
    ],
)
def test_package_that_cannot_be_used_is_named(coordinate: str, message: str) -> None:
    with pytest.raises((RuntimeError, ValueError), match=message):
        package_jars([coordinate])


def test_jar_with_other_content_is_not_fetched(repository: Path, ivy_dir: Path) -> None:
    """A mirror cannot replace a jar, even if it also publishes the checksum of its own jar; nothing is cached."""
    _publish(repository, *BROKER_JARS)
    forged = repository / BROKER_JARS[0]
    forged.write_bytes(b"forged")
    forged.with_name(f"{forged.name}.sha1").write_text(hashlib.sha1(b"forged", usedforsecurity=False).hexdigest())

    with pytest.raises(
        RuntimeError, match=rf"differ from the tested jars.*different: {BROKER_JARS[0]}\); delete the folder"
    ):
        broker_jars(ivy_dir)

    assert [] == list(repository.parent.glob("cache/jars/*/*.jar"))


def test_cached_jar_is_verified_at_every_use(cached: Path, ivy_dir: Path) -> None:
    content = cached.read_bytes()
    for path, other in ((cached, b"other"), (cached, None), (cached.with_name("added.jar"), b"other")):
        path.unlink(missing_ok=True)
        if other:
            path.write_bytes(other)

        with pytest.raises(RuntimeError, match=rf"missing, unknown or different: {path.name}\);"):
            broker_jars(ivy_dir)

        cached.write_bytes(content)


def test_cache_that_others_may_write_is_refused(cached: Path, ivy_dir: Path) -> None:
    """Another user could replace a jar after its verification, so such a cache is refused."""
    for folder in cached.parents[:3]:
        folder.chmod(0o775)

        with pytest.raises(RuntimeError, match=r"other users can write to .*, so its jars are not used; run `chmod"):
            broker_jars(ivy_dir)

        folder.chmod(0o755)


@pytest.mark.parametrize("ivy_file", [*IVY_DIR.glob("*.xml"), *IVY_FILES.glob("*.xml")], ids=lambda path: path.stem)
def test_pinned_jars_have_committed_checksums(ivy_file: Path) -> None:
    names = {"-".join(package.split(":")[1:]) + ".jar" for package in pinned(ivy_file).values()}

    assert set() == names - set(read_checksums(ivy_file.with_suffix(".sha256")))
