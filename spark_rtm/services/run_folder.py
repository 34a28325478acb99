"""
Store a run's temporary files in one folder that other users cannot read.

The run folder contains the servers' data, the checkpoints, and the files of each JVM. A process deletes its folder
when it exits. The next run deletes the folders of killed runs. Each process of a run holds a shared lock on the run's
folder. The operating system releases the lock when the process ends, even after `kill -9`, so a folder without a lock
is not in use.
"""

import atexit
import fcntl
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

PREFIX = "spark-rtm-run-"
REMOVE_ATTEMPTS = 20
PAUSE_SECONDS = 0.1


@cache
def run_folder() -> Path:
    """Return this process's run folder. The first call creates the folder and deletes the folders of killed runs."""
    folder, lock = _create()
    atexit.register(_leave, folder, lock, os.getpid())
    for other in folder.parent.glob(f"{PREFIX}*"):
        # This process's folder is locked.
        _remove_unless_used(other)
    return folder


def new_folder(name: str) -> Path:
    """Create and return a folder in this process's run folder. The new folder's name starts with `name`."""
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=run_folder()))


def jvm_folder() -> Path:
    """Return the folder for JVM files that would otherwise go to `/tmp`, such as native libraries."""
    folder = run_folder() / "jvm"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def admit_group(folder: Path, group: int) -> None:
    """Allow a group's members to enter a folder of this run, but not to list it. Requires root."""
    for part in {folder, run_folder()}:
        os.chown(part, -1, group)
        part.chmod(0o710)


def _remove_unless_used(path: Path) -> None:
    pause = threading.Event()
    # A folder in use raises BlockingIOError. Another process can delete an unused folder first.
    with suppress(OSError):
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(folder).st_uid != os.geteuid():
                return
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A JVM that is shutting down can create a file during the deletion, so one attempt may not suffice.
            for _ in range(REMOVE_ATTEMPTS):
                shutil.rmtree(path, ignore_errors=True)
                if not path.exists() or pause.wait(PAUSE_SECONDS):
                    return
        finally:
            os.close(folder)


def _create() -> tuple[Path, int]:
    """Create and lock a run folder. This process holds the lock until it exits."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Until the folder is locked, another run can mistake it for an unused folder and delete it.
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_SH)
        if folder.exists():
            return folder, lock
        os.close(lock)


def _leave(folder: Path, lock: int, owner: int) -> None:
    # A fork of the owner must not delete the owner's folder.
    if os.getpid() == owner:
        os.close(lock)
        _remove_unless_used(folder)
