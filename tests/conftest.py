"""Fixtures that all tests share: one broker and one Spark session per run, separate topics and folders per test."""

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
# Tests start many JVMs for a few seconds each and measure nothing, so the fast compiler (tier 1) is enough. By default
# it gets a code cache of 48 MB, which five queries fill; after that, the JVM interprets all new code.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")


@pytest.fixture(scope="session")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which Spark runs, which keeps relative checkpoints of pages out of the repository."""
    return tmp_path_factory.mktemp("workplace")


@pytest.fixture(scope="session")
def spark(workplace: Path) -> Iterator[SparkSession]:
    """Yield one session for all tests, with more slots than any query of a test needs."""
    # Python workers start in the same folder and need the path to the repository's modules.
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
        # The queries of every session of the context; a query that keeps running would hold its slots.
        active = session._jsparkSession.sharedState().activeStreamingQueries().values()  # noqa: SLF001 - not public
        for query in list(active):
            query.stop()


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """Yield the bootstrap servers of one broker for all tests."""
    with kafka_broker() as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture
def settings(kafka: str) -> Iterator[Settings]:
    """Yield the settings of a run; create its topics first and delete them afterwards."""
    run_settings = replace(Settings(), topic_prefix=f"test-{uuid.uuid4().hex[:8]}.", interval_seconds=5, slots=SLOTS)
    create_topics(kafka, run_settings.topic_prefix, run_settings.partitions)
    yield run_settings
    _stop_queries()
    admin = AdminClient({"bootstrap.servers": kafka})
    for outcome in admin.delete_topics([run_settings.topic(name) for name in TOPICS]).values():
        outcome.result(30)
