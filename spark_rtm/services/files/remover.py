"""
Delete the folders of finished runs.

The paths are the arguments, or the null-separated strings of standard input. Each process of a run holds a shared lock
on the run's folder. The operating system releases it when the process ends, even after `kill -9`, so a folder without a
lock is not in use. `run_folder.py` and `supervisor.py` run this file with an isolated interpreter, so it imports only
the standard library.
"""

import fcntl
import os
import shutil
import sys
import threading
from contextlib import suppress
from pathlib import Path

ATTEMPTS = 20
PAUSE_SECONDS = 0.1


def _remove_unless_used(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(folder).st_uid == os.geteuid():
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(path)
    finally:
        os.close(folder)


def _remove(path: Path) -> None:
    # A JVM that is shutting down can create a file while its folder is deleted, so one attempt may be too few.
    pause = threading.Event()
    for _ in range(ATTEMPTS):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        pause.wait(PAUSE_SECONDS)


if __name__ == "__main__":
    for argument in sys.argv[1:] or map(os.fsdecode, sys.stdin.buffer.read().split(b"\0")):
        # The error of a folder that is in use is a BlockingIOError. Another process can delete a folder first.
        with suppress(OSError):
            _remove_unless_used(Path(argument))
