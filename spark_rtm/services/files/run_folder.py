"""
Keep the temporary files of a run in one folder that other users cannot read.

The folder contains the data of the servers, the checkpoints, and the files of each JVM. When this process and its
servers have exited, the last of them deletes the folder. The next run deletes the folders of killed runs.
"""

import atexit
import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PREFIX = "spark-rtm-run-"
REMOVER = Path(__file__).with_name("remover.py")


@cache
def run_folder() -> Path:
    """Return the folder of this process. The first call creates it and deletes the folders of killed runs."""
    folder, lock = _create()
    atexit.register(_leave, folder, lock, os.getpid())
    remove_unused(other for other in folder.parent.glob(f"{PREFIX}*") if other != folder)
    return folder


def new_folder(name: str) -> Path:
    """Create a folder in the folder of this process, and return it. Its name starts with `name`."""
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=run_folder()))


def jvm_folder() -> Path:
    """Return the folder for JVM files that would otherwise go to `/tmp`, such as native libraries."""
    folder = run_folder() / "jvm"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def admit_group(folder: Path, group: int) -> None:
    """Allow a group's members to enter a folder of this run, but not to list it. Only root may call this."""
    for part in {folder, run_folder()}:
        os.chown(part, -1, group)
        part.chmod(0o710)


def remove_unused(folders: Iterable[Path]) -> None:
    """Delete the run folders that no process uses."""
    if names := [os.fsencode(folder) for folder in folders if _is_own(folder)]:
        # A command line has a limited length, and any user can create folders with this prefix.
        subprocess.run([sys.executable, "-I", "-S", str(REMOVER)], input=b"\0".join(names), check=False)


def _is_own(folder: Path) -> bool:
    try:
        return folder.lstat().st_uid == os.geteuid()
    except OSError:
        return False


def _create() -> tuple[Path, int]:
    """Create and lock a folder. The lock lasts as long as the process."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Another run can mistake the folder for an unused one until the folder is locked, and delete it.
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_SH)
        if folder.exists():
            return folder, lock
        os.close(lock)


def _leave(folder: Path, lock: int, owner: int) -> None:
    # A process that was forked from the owner must not delete the owner's folder.
    if os.getpid() == owner:
        os.close(lock)
        remove_unused([folder])
