"""Nouns that tests share: one broker and one Spark session per run, topics and checkpoints per test."""

import contextlib
import os
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from examples.attribution.settings import Settings
from examples.attribution.topics import TOPICS, create_topics
from examples.services import kafka_broker
from examples.services.spark import build_session

ROOT = Path(__file__).resolve().parents[1]
SLOTS = Settings().slots
# Tests start many JVMs for seconds each and measure nothing: quick compilation serves them better than a good one. It
# would get 48 MB for its code, which five queries fill, and then the JVM interprets whatever is new.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")


@pytest.fixture(scope="session")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which Spark runs, so that relative checkpoints of the pages stay out of the repository."""
    return tmp_path_factory.mktemp("workplace")


@pytest.fixture(scope="session")
def spark(workplace: Path) -> Iterator[SparkSession]:
    """Yield one session for all tests, with more slots than any query of a test needs."""
    # Python workers start in the same folder and must find the repository's modules from there.
    os.environ["PYTHONPATH"] = str(ROOT)
    with contextlib.chdir(workplace):
        session = build_session("tests", slots=SLOTS, confs={"spark.sql.streaming.realTimeMode.minBatchDuration": "1s"})
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _no_query_outlives_its_test() -> Iterator[None]:
    yield
    _stop_queries()


def _stop_queries() -> None:
    session = SparkSession.getActiveSession()
    if session:
        # Those of every session of the context; a query that is left over would keep its slots.
        active = session._jsparkSession.sharedState().activeStreamingQueries().values()  # noqa: SLF001 - has no public name
        for query in list(active):
            query.stop()


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """Yield the bootstrap servers of one broker for all tests."""
    with kafka_broker() as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture
def settings(kafka: str) -> Iterator[Settings]:
    """Settings of a run whose topics exist, are its own, and go away afterwards."""
    own = replace(Settings(), topic_prefix=f"test-{uuid.uuid4().hex[:8]}.", interval_seconds=5, slots=SLOTS)
    create_topics(kafka, own.topic_prefix, own.partitions)
    yield own
    _stop_queries()
    admin = AdminClient({"bootstrap.servers": kafka})
    for outcome in admin.delete_topics([own.topic(name) for name in TOPICS]).values():
        outcome.result(30)
