"""
Run a real PostgreSQL server on this machine, or use the server at `POSTGRES_DSN`.

Only a real server shows how simultaneous upserts from several tasks affect each other.
"""

import os
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from spark_rtm.services.child import free_ports, start_child, wait_until_ready
from spark_rtm.services.files.run_folder import new_folder
from spark_rtm.services.local_server import LocalServer, running
from spark_rtm.services.postgres_programs import accessible_programs, clean_environment, create_data, server_user

START_TIMEOUT_SECONDS = 30.0
# This is the shortest timeout that the client library accepts.
PROBE_TIMEOUT_SECONDS = 2
EXTERNAL_PROBE_TIMEOUT_SECONDS = 3
PASSWORD_BYTES = 24


def _connection_error(dsn: str, timeout_seconds: int) -> Exception | None:
    try:
        psycopg.connect(dsn, connect_timeout=timeout_seconds).close()
    except psycopg.Error as error:
        return error
    return None


def _check_external(dsn: str) -> None:
    consequence = "so the results cannot be stored; correct POSTGRES_DSN, or unset it to start a local server"
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # The original error quotes the connection string, which may contain a password.
        raise RuntimeError(f"POSTGRES_DSN is not a PostgreSQL connection string, {consequence}") from None
    if error := _connection_error(dsn, EXTERNAL_PROBE_TIMEOUT_SECONDS):
        server = " ".join(f"{name}={parts[name]}" for name in ("host", "port", "dbname", "user") if parts.get(name))
        raise RuntimeError(f"cannot connect to PostgreSQL at {server!r} (POSTGRES_DSN), {consequence}") from error


@dataclass
class LocalPostgres(LocalServer):
    """A PostgreSQL 18 server on 127.0.0.1 with its data in the folder of the run."""

    log_name: ClassVar[str] = "postgres.log"
    folder: Path = field(default_factory=lambda: new_folder("postgres"))
    port: int = field(default_factory=lambda: free_ports(1)[0])
    password: str = field(default_factory=lambda: secrets.token_urlsafe(PASSWORD_BYTES), repr=False)

    @property
    def dsn(self) -> str:
        """Connection string with the password. A restart does not change it."""
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start the server and wait until it accepts connections. Raise RuntimeError with its log if it does not."""
        programs = accessible_programs(self.folder)
        data = self.folder / "data"
        if not data.exists():
            create_data(programs, data, self.password, self.log_path)
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        command = [str(programs / "bin" / "postgres"), "-D", str(data), "-p", str(self.port)]
        command += [f"--{name}={value}" for name, value in settings.items()]
        self.child = start_child(
            "PostgreSQL server",
            command,
            log_path=self.log_path,
            env=clean_environment(),
            # SIGINT requests a fast shutdown. SIGTERM would wait for all clients to disconnect.
            stop_signal=signal.SIGINT,
            run_as=server_user(),
        )
        wait_until_ready(self.child, self._is_ready, START_TIMEOUT_SECONDS)

    def _is_ready(self) -> bool:
        return _connection_error(self.dsn, PROBE_TIMEOUT_SECONDS) is None


def without_password(dsn: str) -> str:
    """
    Return a connection string that reads the password from a private file.

    PostgreSQL clients accept it instead of `dsn` until this process ends. It has a password only if `dsn` has one.
    """
    parts = conninfo_to_dict(dsn)
    password = str(parts.pop("password", ""))
    if not password:
        return dsn
    passfile = new_folder("pgpass") / "pgpass"
    passfile.touch(mode=0o600)
    escaped = password.replace("\\", r"\\").replace(":", r"\:")
    passfile.write_text(f"*:*:*:*:{escaped}\n")
    return make_conninfo("", **parts, passfile=str(passfile))


@contextmanager
def postgres_server() -> Iterator[str]:
    """
    Yield `POSTGRES_DSN`, or the connection string of a local server for the block.

    Raises RuntimeError if the named server refuses the connection or does not respond within 3 s, or if the local
    server does not start.
    """
    if external := os.environ.get("POSTGRES_DSN"):
        _check_external(external)
        yield external
        return
    with running(LocalPostgres()) as server:
        yield server.dsn
