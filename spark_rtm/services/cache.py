"""
Store downloaded and compiled files in a cache folder that all checkouts and parallel processes share.

No Python package contains the Kafka broker or Spark's Kafka connector, so both are downloaded once per user.
"""

import fcntl
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


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
