"""Fixtures of the page tests: the environment of their code blocks, and a summary of the outcomes."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.services import postgres_server
from tests.helpers import new_topic
from tests.pages.examples import EXAMPLES
from tests.pages.jobs import FORMAT, PROVIDER, ModeJob
from tests.pages.running import PageEnvironment
from tests.pages.samples import create_page_topics


@pytest.fixture(scope="session")
def environment(spark: SparkSession, kafka: str, workplace: Path) -> Iterator[PageEnvironment]:
    """Yield a session, a broker with the pages' topics, and a folder; environment variables hold the addresses."""
    create_page_topics(kafka)
    with postgres_server() as dsn:
        addresses = {"KAFKA_BOOTSTRAP_SERVERS": kafka, "POSTGRES_DSN": dsn}
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
    return ModeJob(session, kafka, new_topic(kafka, 1), new_topic(kafka, 1), tmp_path / "checkpoint")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the number of code blocks and their outcomes."""
    fates = Counter(example.fate for example in EXAMPLES)
    tests = (
        "test_python_fence_does_what_its_fate_says",
        "test_refusal_has_moment_and_message_that_the_page_states",
        "test_excerpt_equals_the_module",
    )
    passed = sum(any(name in report.nodeid for name in tests) for report in terminalreporter.getreports("passed"))
    if passed:
        terminalreporter.section("code blocks of the pages")
        terminalreporter.line(
            f"{fates.total()} found, {fates.total() - fates['other']} of them Python: {fates['run']} run, "
            f"{fates['raises']} raise the declared condition, {fates['excerpt']} are excerpts, "
            f"{fates['requires']} need Databricks; "
            f"{passed} of {fates['run'] + fates['raises'] + fates['excerpt']} proved in this run"
        )
