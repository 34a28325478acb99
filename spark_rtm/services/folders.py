"""
Store a run's temporary files in one folder, and downloaded and compiled files in a cache that all processes share.

The run folder contains the servers' data, the checkpoints, and the files of each JVM. Other users cannot read it. A
process deletes its folder when it exits. The next run deletes the folders of killed runs. Each process of a run holds a
shared lock on the run's folder. The operating system releases the lock when the process ends, even after `kill -9`, so
a folder without a lock is not in use.

No Python package contains the Kafka broker or Spark's Kafka connector, so both are downloaded into the cache once per
user.
"""

import atexit
import fcntl
import os
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

PREFIX = "spark-rtm-run-"
REMOVE_ATTEMPTS = 20
PAUSE_SECONDS = 0.1
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


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


def cache_root() -> Path:
    """Return the path in `RTM_CACHE`, or else `spark-rtm` in the user's cache folder, which may not exist yet."""
    if named := os.environ.get("RTM_CACHE"):
        return Path(named).expanduser().absolute()
    if user_cache := os.environ.get("XDG_CACHE_HOME"):
        return Path(user_cache) / "spark-rtm"
    user_cache = "Library/Caches" if sys.platform == "darwin" else ".cache"
    return Path.home() / user_cache / "spark-rtm"


def cached_folder(name: str, fill: Callable[[Path], object]) -> Path:
    """
    Return the cache's `name` folder. If the folder is missing, create it with `fill`.

    `fill` writes to a temporary folder, which is then renamed, so the folder is always complete. If several processes
    need the folder, one process fills it and all others wait. If `fill` raises, nothing remains in the cache.
    """
    folder = cache_root() / name
    if folder.is_dir():
        return folder
    # Other users must not be able to replace the content, even with a permissive umask.
    for parent in (cache_root(), folder.parent):
        parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            try:
                fill(unfinished)
                unfinished.chmod(0o755)
                unfinished.rename(folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def refuse_foreign_writers(folders: Iterable[Path]) -> None:
    """Raise RuntimeError if another user can write to a folder, and could therefore replace a verified jar."""
    for folder in folders:
        status = folder.stat()
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & WRITABLE_BY_OTHERS:
            raise RuntimeError(
                f"other users can write to {str(folder)!r}, so its jars are not used; run `chmod go-w` on the folder "
                "if it is yours, or set RTM_CACHE to a folder of your own"
            )
