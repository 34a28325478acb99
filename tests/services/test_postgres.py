"""A real PostgreSQL server, ours or another, behaves as the examples rely on."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from examples.services.child import free_ports, running
from examples.services.postgres import LocalPostgres, postgres_server

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    """A server of this module's own, because its tests end it."""
    with running(LocalPostgres()) as local:
        yield local


def test_killed_server_comes_back_with_its_address_and_its_rows(server: LocalPostgres) -> None:
    """Clients need not be told anew where the server is, and what it had committed is still there."""
    dsn = server.dsn
    with psycopg.connect(dsn) as connection:
        connection.execute("create table kept as select 'row' as value")
    open_connection = psycopg.connect(dsn)

    server.kill()
    server.start()

    assert dsn == server.dsn
    with psycopg.connect(dsn) as connection:
        assert [("row",)] == connection.execute("select value from kept").fetchall()
    with pytest.raises(psycopg.OperationalError):
        open_connection.execute("select 1")


def test_stopping_does_not_wait_for_clients(server: LocalPostgres) -> None:
    """An orderly end comes at once, although a client is still connected."""
    open_connection = psycopg.connect(server.dsn)

    server.stop()

    with pytest.raises(psycopg.OperationalError):
        open_connection.execute("select 1")
    server.start()


def test_server_speaks_version_and_time_zone_of_the_examples(server: LocalPostgres) -> None:
    """It is PostgreSQL 18, and it thinks in UTC wherever the machine stands."""
    with psycopg.connect(server.dsn) as connection:
        assert connection.info.server_version // 10_000 == 18
        assert connection.execute("show timezone").fetchone() == ("UTC",)


def test_wrong_password_is_refused(server: LocalPostgres) -> None:
    """Another user of this machine does not get in."""
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(server.dsn.replace(server.password, "guessed"))


def test_password_stays_out_of_sight(server: LocalPostgres) -> None:
    """Neither the log nor the printed object shows the password."""
    assert server.password not in server.log_path.read_text()
    assert server.password not in repr(server)
    assert not server.folder.joinpath("password").exists()


def test_named_server_is_used(server: LocalPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a server names it, and no other is started or ended."""
    monkeypatch.setenv("POSTGRES_DSN", server.dsn)

    with postgres_server() as dsn:
        assert server.dsn == dsn

    assert server.child is not None
    assert server.child.is_running()


def test_named_server_that_does_not_answer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead address is an error at once, and the message does not show the password."""
    port = free_ports(1)[0]
    monkeypatch.setenv("POSTGRES_DSN", f"postgresql://writer:secret@127.0.0.1:{port}/ads")

    with pytest.raises(RuntimeError) as failure, postgres_server():
        pytest.fail("a dead address was accepted")

    assert f"'host=127.0.0.1 port={port} dbname=ads user=writer' (POSTGRES_DSN)" in str(failure.value)
    assert "unset it for a local server" in str(failure.value)
    assert "secret" not in f"{failure.value}{failure.value.__cause__}"


def test_malformed_connection_string_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistyped connection string is told from a dead server, and not quoted."""
    monkeypatch.setenv("POSTGRES_DSN", "host=127.0.0.1 secret")

    with pytest.raises(RuntimeError, match="is not a PostgreSQL connection string") as failure, postgres_server():
        pytest.fail("a malformed connection string was accepted")

    assert "secret" not in str(failure.value)


def test_taken_port_shows_the_servers_own_words() -> None:
    """Whoever cannot start a server reads why in the error."""
    with socket.create_server(("127.0.0.1", free_ports(1)[0])) as taken:
        local = LocalPostgres(port=taken.getsockname()[1])
        try:
            with pytest.raises(RuntimeError, match=r"ended while it was starting[\s\S]*Address already in use"):
                local.start()
        finally:
            local.remove()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root lends the server another user")
def test_data_out_of_the_servers_reach_names_the_remedy(tmp_path: Path) -> None:
    """Root reads which folder the server cannot enter, and no folder of root's is opened for it."""
    tmp_path.chmod(0o700)
    folder = tmp_path / "data"
    folder.mkdir()

    with pytest.raises(RuntimeError, match=r"may not enter .*set TMPDIR to a folder that every user may enter"):
        LocalPostgres(folder=folder).start()

    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_block_that_ends_takes_server_and_data_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a local server is left."""
    monkeypatch.delenv("POSTGRES_DSN", raising=False)

    with postgres_server() as dsn, psycopg.connect(dsn) as connection:
        answer = connection.execute("show data_directory").fetchone()

    assert answer is not None
    assert not Path(answer[0]).exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(dsn)
