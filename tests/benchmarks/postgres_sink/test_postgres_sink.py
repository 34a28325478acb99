import time
import uuid
from collections.abc import Iterator

import pytest
from psycopg.conninfo import conninfo_to_dict

from benchmarks.postgres_sink.measure import commit_times_ms, enable_commit_times, single_row_ms
from examples.attribution.attributed_table import COLUMNS, create_tables, results_sink
from examples.attribution.settings import DemoSettings
from spark_rtm.services import LocalPostgres, running

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    """Start a server for this module only, because a measurement restarts it."""
    with running(LocalPostgres()) as local:
        yield local


def test_commit_time_is_between_sending_and_reading(server: LocalPostgres) -> None:
    """The database itself stores the end of the measured time, so it does not depend on when a row is read."""
    settings = DemoSettings(topic_prefix=f"test-{uuid.uuid4().hex[:8]}.")
    enable_commit_times(server)
    create_tables(server.dsn, settings)
    sink = results_sink(dict(conninfo_to_dict(server.dsn)), settings)
    sink.open(0, 0)

    before = time.time() * 1000
    sink.process(dict.fromkeys(COLUMNS) | {"result_id": "a", "version": 1})
    sink.close(None)
    after = time.time() * 1000

    assert before < commit_times_ms(server.dsn, settings)["a"] < after


def test_single_row_is_visible_only_after_the_linger_time(server: LocalPostgres) -> None:
    """The sink waits 2 ms for more rows before it writes a single row."""
    assert all(2 <= ms for ms in single_row_ms(server.dsn, 20))
