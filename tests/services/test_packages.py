"""Jars are fetched once, at the pinned versions, and a failure says what to do."""

import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from examples.services.packages import IVY_FILES, Connector, broker_jars, connector
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
    """A folder, empty at first, that is asked for packages instead of the network, and an empty cache."""
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
    """Whoever cannot fetch the broker learns what is missing, what for, and three ways to get it."""
    with pytest.raises(RuntimeError) as failure:
        broker_jars()

    message = str(failure.value)
    assert "org.apache.kafka:kafka_2.13:4.4.0, org.slf4j:slf4j-simple:1.7.36" in message
    assert "without them Kafka and Spark's Kafka source cannot start" in message
    assert "python -m examples.services.packages" in message
    assert "RTM_IVY_SETTINGS" in message
    assert f"the cache {repository.parent / 'cache'}" in message
    assert "kafka_2.13;4.4.0: not found" in message


def test_command_without_network_ends_with_the_message_alone(repository: Path) -> None:
    """The command that fetches shows the remedy and no stack trace."""
    assert [] == list(repository.iterdir())

    command = [sys.executable, "-m", "examples.services.packages"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert answer.returncode == 1
    assert answer.stderr.startswith("Cannot fetch the Maven packages org.apache.spark:spark-sql-kafka")
    assert "Traceback" not in answer.stderr


def test_failed_fetch_is_tried_again(repository: Path) -> None:
    """A network that comes back is used."""
    with pytest.raises(RuntimeError, match="Cannot fetch"):
        broker_jars()

    _publish(repository, *BROKER_JARS)

    assert BROKER_JARS == _names_of(broker_jars())


def test_second_fetch_needs_no_network(repository: Path) -> None:
    """What was fetched once is there for good, the choice of the connector included."""
    _publish(repository, *BROKER_JARS, *FALLBACK_JARS)
    first = broker_jars(), connector()

    _withdraw_all(repository)

    assert first == (broker_jars(), connector())


def test_connector_of_sparks_own_version_is_preferred(repository: Path) -> None:
    """Where a repository has it, the connector has Spark's own version."""
    _publish(repository, PREFERRED_JAR, *FALLBACK_JARS)

    found = connector()

    assert found == Connector(pyspark.__version__, found.jars)
    assert [PREFERRED_JAR] == _names_of(found.jars)


def test_connector_that_cannot_be_had_is_replaced_by_the_proved_set(repository: Path) -> None:
    """Where a repository lacks the preferred connector, the set that was proved to run takes its place, and says so."""
    _publish(repository, *FALLBACK_JARS)

    found = connector()

    assert found.version == "4.2.0"
    assert FALLBACK_JARS == _names_of(found.jars)


def test_half_a_fallback_set_is_not_used(repository: Path) -> None:
    """A set with a missing jar is an error now and not in the middle of a query."""
    _publish(repository, *FALLBACK_JARS[1:])

    with pytest.raises(RuntimeError, match=r"commons-pool2;2\.13\.1: not found"):
        connector()


def test_two_processes_at_once_get_the_same_complete_sets(repository: Path) -> None:
    """Two checkouts that are set up at once do not disturb each other."""
    _publish(repository, *BROKER_JARS, *FALLBACK_JARS)
    command = [sys.executable, "-m", "examples.services.packages"]

    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate(timeout=100)[0] for process in both]

    assert [0, 0] == [process.returncode for process in both]
    assert answers[0] == answers[1]
    assert BROKER_JARS == _names_of(broker_jars())
    left_behind = [path for path in (repository.parent / "cache" / "jars").iterdir() if path.name.startswith(".")]
    assert [] == left_behind


def test_preferred_connector_is_pinned_to_the_installed_spark() -> None:
    """Whoever raises Spark's version is told to raise the connector's."""
    pinned = IVY_FILES.joinpath("connector.xml").read_text()

    assert f'name="spark-sql-kafka-0-10_2.13" rev="{pyspark.__version__}"' in pinned
