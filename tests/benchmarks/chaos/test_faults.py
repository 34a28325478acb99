"""Faults that need no pipeline: each has its effect only while its block runs."""

import random

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from benchmarks.chaos.faults import CUT_SHARE, KINDS, Fault, exhausted, slow
from spark_rtm.services.tcp_proxy import TcpProxy
from tests.helpers import eventually

pytestmark = pytest.mark.services

BREAKS_SOON = next(s / 1000 for s in range(1000) if random.Random(s / 1000).random() < CUT_SHARE)
"""A strength whose first chunk breaks the connection."""


def connect(dsn: str, **parameters: str | int) -> psycopg.Connection:
    """Return a connection that commits every statement; `parameters` override the connection string."""
    return psycopg.connect(make_conninfo(dsn, connect_timeout=10, **parameters), autocommit=True)


def test_slow_connection_breaks_and_then_works_again(rtm_postgres: str) -> None:
    address = conninfo_to_dict(rtm_postgres)
    with TcpProxy((str(address["host"]), int(address["port"] or 0))) as proxy:
        with connect(rtm_postgres, host="127.0.0.1", port=proxy.port) as connection:
            with slow(proxy, Fault("slow-database", 5, BREAKS_SOON, 3, KINDS["slow-database"].begin)):
                assert proxy.delay_seconds > 0
                with pytest.raises(psycopg.OperationalError):
                    connection.execute("select 1")
            assert connection.closed
        with connect(rtm_postgres, host="127.0.0.1", port=proxy.port) as connection:
            assert (1,) == connection.execute("select 1").fetchone()
        assert 0 == proxy.delay_seconds


def test_exhausted_database_refuses_connections_and_closes_those_of_the_follower(rtm_postgres: str) -> None:
    follower = connect(rtm_postgres, application_name="public.attributed_results")
    with exhausted(rtm_postgres):
        with pytest.raises(psycopg.OperationalError):
            follower.execute("select 1")
        with pytest.raises(psycopg.OperationalError, match=r"too many clients|remaining connection slots"):
            connect(rtm_postgres)

    def has_connection() -> bool:
        try:
            connect(rtm_postgres).close()
        except psycopg.OperationalError:
            return False
        return True

    eventually(has_connection, 60, "a connection after the fault")
