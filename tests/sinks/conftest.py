"""Nouns of the sink's tests: one server that they may end, and a table per test that remembers every change."""

import uuid
from collections.abc import Iterator

import pytest

from examples.services import LocalPostgres, running
from tests.sinks.helpers import Table, create_audited, do


@pytest.fixture(scope="session")
def server() -> Iterator[LocalPostgres]:
    """Yield a server of these tests' own."""
    with running(LocalPostgres()) as local:
        yield local


@pytest.fixture
def table(server: LocalPostgres) -> Iterator[Table]:
    """Yield an empty table with the columns key, version and value."""
    own = Table(server.dsn, f"test_{uuid.uuid4().hex[:8]}")
    create_audited(own)
    yield own
    do(own.dsn, f"drop table {own.name}, {own.name}_audit; drop function {own.name}_note")
