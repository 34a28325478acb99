"""
Say where downloaded and derived files live between runs, and fill that place safely.

A name arrives, a complete folder leaves.
Real-time mode needs a broker and a connector that no Python package carries; fetched once, they serve every checkout.
"""

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_root() -> Path:
    """
    Return the cache folder: `RTM_CACHE`, else `spark-rtm` in the user's cache folder of this system.

    The folder may not exist yet.
    """
    if chosen := os.environ.get("RTM_CACHE"):
        return Path(chosen).expanduser().absolute()
    if user_cache := os.environ.get("XDG_CACHE_HOME"):
        return Path(user_cache) / "spark-rtm"
    user_cache = "Library/Caches" if sys.platform == "darwin" else ".cache"
    return Path.home() / user_cache / "spark-rtm"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def cached_folder(name: str, fill: Callable[[Path], None]) -> Path:
    """
    Return the folder `name` of the cache, after `fill` has filled it if it was not there.

    A folder with that name is always complete: it is filled elsewhere and then renamed.
    Of several processes that ask at once, one fills and the others wait.
    What `fill` raises is passed on, and nothing stays in the cache.
    """
    folder = cache_root() / name
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent / f"{folder.name}.lock"):
        if not folder.is_dir():
            unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            try:
                fill(unfinished)
                unfinished.chmod(0o755)
                unfinished.rename(folder)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return folder
