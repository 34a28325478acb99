"""Let one of several processes run the queries, and stop this process if it loses its lock."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..warm_up import warm_up_silently  # noqa: TID252 - users copy the folder under another name
from .lock import Lock, LostLockError

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["IS_READY", "LEADS", "LostLockError", "Standby", "leading"]

# The keeper's logger, so users need to set the level of only one logger.
LOG = logging.getLogger(__name__.removesuffix("standby") + "keeper")
LOCK_POLL_SECONDS = 0.05
LEADS, IS_READY = "this process has the lock", "this process is ready"
"""First words of the log line of the process that starts the queries, and of a process that waits for the lock."""


@dataclass(frozen=True)
class Standby:
    """Lets one of several processes run the queries. A second process takes over when the first one exits."""

    lock_path: Path
    """
    File that the process with the queries locks. The system unlocks it when its JVM exits, even after kill -9.

    All processes must see the same file, on one machine or on a file system with POSIX locks between machines.
    """
    warm_up: Callable[[Path], Mapping[str, Callable[[], StreamingQuery]]] | None = None
    """
    Returns the functions that start the queries, with checkpoints in the given folder.

    A waiting process briefly runs the queries to warm up. Their sources must be `rtm-kafka`, which then reads nothing.
    """


@contextmanager
def leading(spark: SparkSession, standby: Standby, stop: threading.Event) -> Iterator[Callable[[], None] | None]:
    """
    Wait for the lock, and keep it while the block runs.

    Yields a function that raises `LostLockError` if this process has lost the lock, or None if `stop` was set first.
    """
    jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no public API
    path = standby.lock_path
    path.parent.mkdir(parents=True, exist_ok=True)
    with Lock.of(jvm, path) as lock:
        if not lock.acquire():
            if standby.warm_up:
                warm_up_silently(spark, standby.warm_up, path.parent, lambda: stop.is_set() or lock.acquire())
            LOG.info("%s to start the queries as soon as another process releases the lock %s", IS_READY, path)
        while not lock.acquire() and not stop.wait(LOCK_POLL_SECONDS):
            pass
        if lock.is_held:
            LOG.info("%s %s, and starts the queries", LEADS, path)
        yield lock.check if lock.is_held else None
