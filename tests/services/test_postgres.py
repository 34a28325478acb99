import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from spark_rtm.services.child import running
from spark_rtm.services.postgres import LocalPostgres, postgres_server, without_password

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def server() -> Iterator[LocalPostgres]:
    with running(LocalPostgres()) as local:
        yield local


def _status_as_nobody(command: list[str]) -> int:
    result = subprocess.run(command, check=False, cwd="/", user="nobody", group="nogroup", extra_groups=[])
    return result.returncode


def test_password_is_in_neither_the_log_nor_the_repr(server: LocalPostgres) -> None:
    assert server.password not in server.log_path.read_text()
    assert server.password not in repr(server)
    assert not server.folder.joinpath("password").exists()


def test_external_server_is_used_and_not_stopped(server: LocalPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTGRES_DSN", server.dsn)

    with postgres_server() as dsn:
        assert server.dsn == dsn

    assert server.child is not None
    assert server.child.is_running()


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        (
            "postgresql://writer:secret@127.0.0.1:1/ads",
            r"'host=127.0.0.1 port=1 dbname=ads user=writer' \(POSTGRES_DSN\)",
        ),
        ("host=127.0.0.1 secret", "is not a PostgreSQL connection string"),
    ],
    ids=["unreachable", "malformed"],
)
def test_error_of_external_server_has_no_password(monkeypatch: pytest.MonkeyPatch, dsn: str, message: str) -> None:
    monkeypatch.setenv("POSTGRES_DSN", dsn)

    with (
        pytest.raises(RuntimeError, match=f"{message}.* unset it to start a local server") as failure,
        postgres_server(),
    ):
        pytest.fail("a wrong server was accepted")

    assert "secret" not in f"{failure.value}{failure.value.__cause__}"


def test_connection_string_without_password_names_a_private_file(server: LocalPostgres) -> None:
    dsn = without_password(server.dsn)

    assert server.password not in dsn
    assert 0o600 == Path(str(conninfo_to_dict(dsn)["passfile"])).stat().st_mode & 0o777
    with psycopg.connect(dsn) as connection:
        assert ("postgres",) == connection.execute("select current_user").fetchone()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")
def test_user_of_the_server_cannot_redirect_the_log(server: LocalPostgres, tmp_path: Path) -> None:
    """The user as whom root runs the server can neither replace the log with a link nor create files beside it."""
    log, password = str(server.log_path), str(server.folder / "password")
    attempts = (["rm", "-f", log], ["ln", "-sfn", str(tmp_path), log], ["touch", password])

    statuses = [_status_as_nobody(attempt) for attempt in attempts]

    assert [1, 1, 1] == statuses
    assert 0 == server.log_path.stat().st_uid


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server as another user")
def test_inaccessible_data_folder_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    folder = tmp_path / "data"
    folder.mkdir()

    with pytest.raises(RuntimeError, match=r"cannot enter .*set TMPDIR to a folder that every user can enter"):
        LocalPostgres(folder=folder).start()

    assert tmp_path.stat().st_mode & 0o777 == 0o700
