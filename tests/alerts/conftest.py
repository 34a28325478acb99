"""Fixtures of the alert tests: options of a run with its own topics."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from examples.alerts.job import Options


@pytest.fixture
def options(kafka: str, tmp_path: Path) -> Iterator[Options]:
    """Yield options with an interval longer than the test, so no output of a job can wait for a commit."""
    run_options = Options(
        kafka, topic_prefix=f"test-{uuid.uuid4().hex[:8]}.", checkpoint_dir=str(tmp_path), interval_seconds=300
    )
    yield run_options
    session = SparkSession.getActiveSession()
    for query in session.streams.active if session else []:
        query.stop()
    admin = AdminClient({"bootstrap.servers": kafka})
    topics = [name for name in admin.list_topics(timeout=10).topics if name.startswith(run_options.topic_prefix)]
    for outcome in admin.delete_topics(topics).values() if topics else []:
        outcome.result(30)
