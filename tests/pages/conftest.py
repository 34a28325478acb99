"""Fixtures of the page tests: the environment of their code blocks, and a summary of the outcomes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.services import postgres_server
from tests.helpers import new_topic
from tests.pages.jobs import FORMAT, PROVIDER, ModeJob
from tests.pages.running import PageEnvironment
from tests.pages.samples import create_page_topics


@pytest.fixture(scope="session")
def environment(spark: SparkSession, kafka: str, workplace: Path) -> Iterator[PageEnvironment]:
    """Yield a session, a broker with the pages' topics, and a folder; environment variables contain their addresses."""
    create_page_topics(kafka)
    with postgres_server() as dsn:
        addresses = {
            "KAFKA_BOOTSTRAP_SERVERS": kafka,
            "POSTGRES_DSN": dsn,
            "CHECKPOINTS": "checkpoints",
            "METRICS_PORT": "0",
        }
        before = {name: os.environ.get(name) for name in addresses}
        os.environ.update(addresses)
        yield PageEnvironment(spark, kafka, workplace)
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture
def job(spark: SparkSession, kafka: str, tmp_path: Path) -> ModeJob:
    """Return a job with its own session, topics and checkpoint; the session has Spark's default state settings."""
    session = spark.newSession()
    for key in (FORMAT, PROVIDER):
        session.conf.unset(key)
    session.conf.set("spark.sql.shuffle.partitions", "1")
    return ModeJob(session, kafka, new_topic(kafka, 1), new_topic(kafka, 1), tmp_path / "checkpoint")
