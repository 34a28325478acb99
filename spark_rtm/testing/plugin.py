"""
Pytest plugin with one session and one broker for a whole test run, and the `run_real_time` fixture.

Activate the plugin in `conftest.py` with `pytest_plugins = ["spark_rtm.testing.plugin"]`. The import has no side
effects.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from spark_rtm.testing.run import RealTimeRun

# The default of the example pipeline, which runs all queries in one session.
SLOTS = 24
# Spark requires 5 s by default. A test waits for the end of a batch, so its batches are shorter.
MIN_INTERVAL = {"spark.sql.streaming.realTimeMode.minBatchDuration": "1s"}


@pytest.fixture(scope="session")
def rtm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return Spark's working folder, which keeps a job's relative paths out of the project."""
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def rtm_confs() -> dict[str, str]:
    """Return additional session settings. Override this fixture in your `conftest.py`."""
    return {}


@pytest.fixture(scope="session")
def rtm_spark(rtm_folder: Path, rtm_confs: dict[str, str]) -> Iterator[SparkSession]:
    """Yield a local session with the settings and the Kafka connector that real-time mode needs."""
    from spark_rtm.services.spark import build_session

    with contextlib.chdir(rtm_folder):
        session = build_session("tests", slots=SLOTS, confs={**MIN_INTERVAL, **rtm_confs})
    yield session
    session.stop()


@pytest.fixture(scope="session")
def rtm_kafka() -> Iterator[str]:
    """Yield a local broker's bootstrap servers, or `KAFKA_BOOTSTRAP_SERVERS`."""
    from spark_rtm.services.kafka import kafka_broker

    with kafka_broker() as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture(scope="session")
def rtm_postgres() -> Iterator[str]:
    """Yield a local PostgreSQL server's connection string, or `POSTGRES_DSN`."""
    from spark_rtm.services.postgres import postgres_server

    with postgres_server() as dsn:
        yield dsn


@pytest.fixture
def run_real_time(rtm_spark: SparkSession, rtm_kafka: str) -> Callable[..., RealTimeRun]:
    """Return `spark_rtm.testing.run.run_real_time`, bound to this test run's session and broker."""
    from spark_rtm.testing.run import run_real_time as run

    return functools.partial(run, spark=rtm_spark, bootstrap_servers=rtm_kafka)
