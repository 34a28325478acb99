import uuid
from collections.abc import Iterator

import pytest

from spark_rtm.services import LocalPostgres, running
from spark_rtm.services.tcp_proxy import TcpProxy
from tests.sinks.helpers import Table, create_audited, do


@pytest.fixture(scope="session")
def server() -> Iterator[LocalPostgres]:
    with running(LocalPostgres()) as local:
        yield local


@pytest.fixture
def proxy(server: LocalPostgres) -> Iterator[TcpProxy]:
    with TcpProxy(("127.0.0.1", server.port)) as between:
        yield between


@pytest.fixture
def table(server: LocalPostgres) -> Iterator[Table]:
    audited = Table(server.dsn, f"test_{uuid.uuid4().hex[:8]}")
    create_audited(audited)
    yield audited
    do(audited.dsn, f"drop table {audited.name}, {audited.name}_audit; drop function {audited.name}_note")
