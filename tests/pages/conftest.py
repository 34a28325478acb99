"""Nouns of the page tests: the place where their code runs, and the report of what became of each block."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.services import postgres_server
from tests.helpers import new_topic
from tests.pages.examples import EXAMPLES
from tests.pages.jobs import FORMAT, PROVIDER, Job
from tests.pages.running import Place
from tests.pages.samples import create_page_topics


@pytest.fixture(scope="session")
def place(spark: SparkSession, kafka: str, workplace: Path) -> Iterator[Place]:
    """Yield a session, a broker with the topics of the pages, and a folder; addresses are in the environment."""
    create_page_topics(kafka)
    with postgres_server() as dsn:
        addresses = {"KAFKA_BOOTSTRAP_SERVERS": kafka, "POSTGRES_DSN": dsn}
        before = {name: os.environ.get(name) for name in addresses}
        os.environ.update(addresses)
        yield Place(spark, kafka, workplace)
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture
def job(spark: SparkSession, kafka: str, tmp_path: Path) -> Job:
    """Return a job with a session, two topics and a checkpoint of its own; the session has the engine's defaults."""
    session = spark.newSession()
    for key in (FORMAT, PROVIDER):
        session.conf.unset(key)
    return Job(session, kafka, new_topic(kafka, 1), new_topic(kafka, 1), tmp_path / "checkpoint")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many code blocks were found and what became of them."""
    fates = Counter(example.fate for example in EXAMPLES)
    tests = ("test_python_fence_does_what_its_fate_says", "test_excerpt_equals_the_module")
    passed = sum(any(name in report.nodeid for name in tests) for report in terminalreporter.getreports("passed"))
    if passed:
        terminalreporter.section("code blocks of the pages")
        terminalreporter.line(
            f"{fates.total()} found, {fates.total() - fates['other']} of them Python: {fates['run']} run, "
            f"{fates['raises']} raise what they say, {fates['excerpt']} excerpts, {fates['requires']} need Databricks; "
            f"{passed} of {fates['run'] + fates['raises'] + fates['excerpt']} proved in this run"
        )
