"""
Fixtures of all tests: one broker and one Spark session per run, separate topics and folders per test.

Only the fixtures that need Spark and Kafka import them, so tests of plain Python do not load them.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import uuid
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.attribution.settings import DemoSettings, Settings

pytest_plugins = ["pytester", "tests.suite", "spark_rtm.testing.plugin"]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[1]
SLOTS = 24  # the settings of the session `rtm_spark`
# Tests start many JVMs for a few seconds each and measure nothing, so the fast compiler (tier 1) and the collector
# without threads of its own are enough. By default the compiler gets a code cache of 48 MB, which five queries fill;
# after that, the JVM interprets all new code.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC")


def pytest_configure() -> None:
    """Let tests send Ctrl-C to their programs, which would ignore it if a shell started pytest in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Pause the garbage collector during collection, because modules and tests live until the end anyway."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def workplace(rtm_folder: Path) -> Path:
    """Return Spark's working directory, which keeps the relative checkpoint paths of pages out of the repository."""
    # Python workers start in the same folder and need the path to the repository's modules.
    os.environ["PYTHONPATH"] = str(ROOT)
    return rtm_folder


@pytest.fixture(scope="session")
def rtm_confs() -> dict[str, str]:
    from spark_rtm.prove.engine import SURVIVE_ERRORS
    from spark_rtm.services.packages import avro_jars
    from tests.helpers import FEW_TASKS, RARE_FLUSHES, RARE_POLLS

    jars = ",".join(map(str, avro_jars()))
    return {"spark.jars": jars, **RARE_POLLS, **RARE_FLUSHES, **FEW_TASKS, **SURVIVE_ERRORS}


@pytest.fixture(scope="session")
def spark(workplace: Path, rtm_spark: SparkSession) -> SparkSession:
    return rtm_spark


@pytest.fixture(autouse=True)
def _no_query_outlives_its_test() -> Iterator[None]:
    yield
    _stop_queries()


def _stop_queries() -> None:
    if "pyspark" not in sys.modules:
        return
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session:
        # The queries of every session of the context; a query that keeps running would hold its slots.
        active = session._jsparkSession.sharedState().activeStreamingQueries().values()  # noqa: SLF001 - not public
        for query in list(active):
            query.stop()


@pytest.fixture(scope="session")
def kafka(rtm_kafka: str) -> str:
    return rtm_kafka


@pytest.fixture
def settings(kafka: str) -> Iterator[Settings]:
    """Yield the settings of a run; create its topics first and delete them afterwards."""
    from confluent_kafka.admin import AdminClient

    from examples.attribution.topics import TOPICS, create_topics

    run_settings = replace(
        DemoSettings(), topic_prefix=f"test-{uuid.uuid4().hex[:8]}.", interval_seconds=5, slots=SLOTS
    )
    create_topics(kafka, run_settings.topic_prefix, run_settings.partitions)
    yield run_settings
    _stop_queries()
    admin = AdminClient({"bootstrap.servers": kafka})
    for outcome in admin.delete_topics([run_settings.topic(name) for name in TOPICS]).values():
        outcome.result(30)
