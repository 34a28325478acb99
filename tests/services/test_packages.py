"""Jars are fetched once, in the pinned versions, and a failure names the remedies."""

import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from examples.services.packages import IVY_DIR, Connector, broker_jars, connector
from tests.helpers import ivy_settings

FALLBACK_JARS = [
    "commons-pool2-2.13.1.jar",
    "kafka-clients-3.9.2.jar",
    "spark-sql-kafka-0-10_2.13-4.2.0.jar",
    "spark-token-provider-kafka-0-10_2.13-4.0.0.jar",
]
BROKER_JARS = ["kafka_2.13-4.4.0.jar", "slf4j-simple-1.7.36.jar"]
PREFERRED_JAR = "spark-sql-kafka-0-10_2.13-4.3.0.jar"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that Ivy uses instead of the network; the cache is empty too."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.setenv("RTM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RTM_IVY_SETTINGS", str(ivy_settings(folder)))
    return folder


def _publish(repository: Path, *names: str) -> None:
    for name in names:
        repository.joinpath(name).write_bytes(name.encode())


def _withdraw_all(repository: Path) -> None:
    shutil.rmtree(repository)


def _names_of(jars: tuple[Path, ...]) -> list[str]:
    return [jar.name for jar in jars]


def test_no_network_and_no_cache_names_packages_and_remedies(repository: Path) -> None:
    """If the broker cannot be fetched, the error names the packages, the consequence and three remedies."""
    with pytest.raises(RuntimeError) as failure:
        broker_jars()

    message = str(failure.value)
    assert "org.apache.kafka:kafka_2.13:4.4.0, org.slf4j:slf4j-simple:1.7.36" in message
    assert "so Kafka and Spark's Kafka source cannot start" in message
    assert "python -m examples.services packages" in message
    assert "RTM_IVY_SETTINGS" in message
    assert f"the cache {repository.parent / 'cache'}" in message
    assert "kafka_2.13;4.4.0: not found" in message


def test_command_without_network_ends_with_one_message(repository: Path) -> None:
    """The command prints the error with its remedies and no stack trace."""
    assert [] == list(repository.iterdir())

    command = [sys.executable, "-m", "examples.services", "packages"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert result.returncode == 1
    assert result.stderr.startswith("cannot download the Maven packages org.apache.spark:spark-sql-kafka")
    assert "Traceback" not in result.stderr


def test_failed_fetch_is_repeated_by_the_next_call(repository: Path) -> None:
    """After a failed fetch, the next call uses the network again."""
    with pytest.raises(RuntimeError, match="cannot download"):
        broker_jars()

    _publish(repository, *BROKER_JARS)

    assert BROKER_JARS == _names_of(broker_jars())


def test_second_fetch_needs_no_network(repository: Path) -> None:
    """Cached jars and the choice of the connector are used without a network."""
    _publish(repository, *BROKER_JARS, *FALLBACK_JARS)
    first = broker_jars(), connector()

    _withdraw_all(repository)

    assert first == (broker_jars(), connector())


def test_connector_of_sparks_own_version_is_preferred(repository: Path) -> None:
    """If the repository contains the connector of Spark's own version, that one is used."""
    _publish(repository, PREFERRED_JAR, *FALLBACK_JARS)

    preferred = connector()

    assert Connector(pyspark.__version__, preferred.jars) == preferred
    assert [PREFERRED_JAR] == _names_of(preferred.jars)


def test_missing_connector_is_replaced_by_the_fallback(repository: Path) -> None:
    """If the repository lacks the preferred connector, the tested fallback is used and reports its version."""
    _publish(repository, *FALLBACK_JARS)

    fallback = connector()

    assert fallback.version == "4.2.0"
    assert FALLBACK_JARS == _names_of(fallback.jars)


def test_incomplete_fallback_is_an_error(repository: Path) -> None:
    """A missing jar is an error when the set is fetched, not later while a query runs."""
    _publish(repository, *FALLBACK_JARS[1:])

    with pytest.raises(RuntimeError, match=r"commons-pool2;2\.13\.1: not found"):
        connector()


def test_two_processes_at_once_fetch_the_same_sets(repository: Path) -> None:
    """Two checkouts that fetch packages at the same time do not disturb each other."""
    _publish(repository, *BROKER_JARS, *FALLBACK_JARS)
    command = [sys.executable, "-m", "examples.services", "packages"]

    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=100)[0] for process in both]

    assert [0, 0] == [process.returncode for process in both]
    assert outputs[0] == outputs[1]
    assert BROKER_JARS == _names_of(broker_jars())
    left_behind = [path for path in (repository.parent / "cache" / "jars").iterdir() if path.name.startswith(".")]
    assert [] == left_behind


def test_preferred_connector_is_pinned_to_the_installed_spark() -> None:
    """An upgrade of Spark fails this test until the connector is upgraded too."""
    pinned = IVY_DIR.joinpath("connector.xml").read_text()

    assert f'name="spark-sql-kafka-0-10_2.13" rev="{pyspark.__version__}"' in pinned
