"""
End a running real-time query's batch on demand: commit now, drain, and stop without replay.

Open-source Spark ends a real-time batch only after the trigger interval. The `rtm-kafka` source in `control.scala`
wraps Spark's `kafka` source, and can also end a query's batch on command. Both sources use the same checkpoints, so a
query can switch between them.

The source works only with Spark 4.3, because it wraps non-public classes from Spark and the Kafka connector. A cluster
also needs `spark.plugins` with `PLUGIN`.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession

from .limits import DEADLINE_SECONDS
from .queries import QueryFailedError, raise_if_failed, stop_completely

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql.streaming.listener import StreamingQueryProgress
    from pyspark.sql.streaming.query import StreamingQuery

LOG = logging.getLogger(__name__)
SOURCE = "rtm-kafka"
"""Format name of the source, which has the same options and columns as `kafka`."""
PLUGIN = "spark_rtm.control.Plugin"
"""Value of `spark.plugins` on a cluster. The plugin sends commands to the executors."""
LATEST = "latestOffsets"
"""Source progress metric of a batch that a command ended."""
POLL_SECONDS = 0.02
# A command ends only batches that were planned earlier. A batch planned at the same time needs another command.
REPEAT_SECONDS = 0.5
# The source never returns a transaction's last offset, which is treated as read if no record arrives for this time.
IDLE_SECONDS = 1.0
START_SECONDS = 2.0
"""Maximum time between a query's initialization and the initialization of its sources."""

T = TypeVar("T")
_STOPS: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
_HELD: dict[str, bool] = {}
"""Whether all earlier batches are committed, by id of a run that is stopping and whose next batches read nothing."""


class ControlError(RuntimeError):
    """Raised if a command cannot end the query's batch."""


def commit(query: StreamingQuery, deadline_seconds: float = DEADLINE_SECONDS) -> int:
    """
    End the open batch of `query` now, wait until it is committed, and return its batch id. The query continues.

    Raises `ControlError` if the query has no `rtm-kafka` source, `QueryFailedError` if the query fails, and
    `TimeoutError` after the deadline. After a timeout, the query still runs, and its batch ends as soon as all of its
    tasks can end.
    """
    return int(_committed(query, _Deadline(deadline_seconds))["batchId"])


def drain(query: StreamingQuery, deadline_seconds: float = DEADLINE_SECONDS) -> None:
    """
    Wait until all records currently in the source are processed and committed. The query continues.

    Raises the same errors as `commit`. After the deadline, the query still runs, and the message states the number
    of unread records.
    """
    if unread := _unread_after(query, _Deadline(deadline_seconds))[0]:
        raise TimeoutError(
            f"query {query.name!r} has not read {unread} of the records that its source had {deadline_seconds:g} s "
            "ago; it is still running. Allow more time, or stop the input"
        )


def stop(query: StreamingQuery, deadline_seconds: float = DEADLINE_SECONDS) -> int:
    """
    Drain and stop `query`, so that a restart from its checkpoint replays no record.

    Return the number of unread records, which is above 0 if draining took half of the deadline. A restart reads the
    unread and all later records. Raises the same errors as `commit`. After the deadline, the query still runs.
    """
    deadline, run = _Deadline(deadline_seconds), str(query.runId)
    with _alone(query, deadline):
        unread, target = _unread_after(query, _Deadline(deadline.left() / 2))
        commands = _commands(query)
        try:
            # The next batch reads nothing until the query has stopped.
            _HELD[run] = False
            _HELD[run] = _end_until(query, lambda: commands.isHeld(run), deadline, "to end")
            stop_completely(SparkSession.active(), query, deadline_seconds=max(deadline.left(), 1))
        finally:
            if query.isActive:
                del _HELD[run]
                commands.end(run, False)
    # The last batch may have read more records.
    return _unread(last, target) if unread and (last := query.lastProgress) else 0


def stop_all(
    spark: SparkSession, queries: Iterable[StreamingQuery], deadline_seconds: float = DEADLINE_SECONDS
) -> None:
    """
    Stop all queries: first drain and stop those that support commands, in the given order, then stop all others.

    A query that misses the shared deadline is stopped in the middle of a batch, with a warning in the log, because a
    restart repeats this batch.
    """
    stopping, deadline = list(queries), _Deadline(deadline_seconds)
    for query in stopping:
        try:
            if query.isActive and obeys(query):
                stop(query, max(deadline.left(), 0))
        except (ControlError, QueryFailedError, TimeoutError) as error:
            LOG.warning("query %r stops in the middle of a batch, which a restart repeats: %s", query.name, error)
    stop_completely(spark, *stopping)


def stagger(
    query: StreamingQuery, last_commit: Callable[[], object], seconds: float, stop: threading.Event | None = None
) -> None:
    """
    Commit the batch of `query` a fixed time after each commit of another copy, so that they never pause simultaneously.

    `last_commit` returns a new value after each commit of the other copy, for example the id of its last batch. Set
    `seconds`, this fixed time, to half of the other copy's interval. Give `query` a longer interval, which takes effect
    when the other copy stops. Returns when `query` has stopped or `stop` is set.
    """
    stop, known = stop or threading.Event(), last_commit()
    while query.isActive and not stop.wait(POLL_SECONDS):
        before, known = known, last_commit()
        if known != before and not stop.wait(seconds) and query.isActive:
            try:
                commit(query)
            except (ControlError, QueryFailedError, TimeoutError) as error:
                LOG.warning("query %r did not commit between two pauses of the other copy: %s", query.name, error)


def source_format() -> str:
    """Return `SOURCE` if the active session supports it, otherwise `kafka`."""
    commands = scala_object()
    return SOURCE if commands is not None and commands.isUsable() else "kafka"


def obeys(query: StreamingQuery) -> bool:
    """Return whether commands can end the batch of `query`."""
    try:
        _commands(query)
    except ControlError:
        return False
    return True


class _Deadline:
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        return self._end - time.monotonic()

    def check(self, what: str) -> None:
        if self.left() <= 0:
            raise TimeoutError(
                f"timed out after {self.seconds:g} s waiting for {what}; the query is still running. Allow more time, "
                "or look for a task that does not end"
            )


@contextmanager
def _alone(query: StreamingQuery, deadline: _Deadline) -> Iterator[None]:
    """Wait until no other `stop` call for the query is running."""
    lock = _STOPS.setdefault(str(query.runId), threading.Lock())
    if not lock.acquire(timeout=max(deadline.left(), 0)):
        raise TimeoutError(f"timed out after {deadline.seconds:g} s waiting for another `stop` of query {query.name!r}")
    try:
        yield
    finally:
        lock.release()


def _committed(query: StreamingQuery, deadline: _Deadline) -> StreamingQueryProgress:
    """End the open batch, and return the progress of the first later commit."""
    before = query.lastProgress

    def next_progress() -> StreamingQueryProgress | None:
        now = query.lastProgress
        return now if now and (before is None or now.batchId != before.batchId) else None

    return _end_until(query, next_progress, deadline, "to be committed")


def _end_until(query: StreamingQuery, is_done: Callable[[], T | None], deadline: _Deadline, what: str) -> T:
    """Repeat the command until `is_done` returns a true value, and return that value."""
    commands, repeated = _commands(query), 0.0
    while not (done := is_done()):
        if time.monotonic() - repeated > REPEAT_SECONDS:
            commands.end(str(query.runId), str(query.runId) in _HELD)
            repeated = time.monotonic()
        deadline.check(f"the batch of query {query.name!r} {what}")
        _pause(query, POLL_SECONDS)
    return done


def _commands(query: StreamingQuery) -> Any:
    """Return the Scala object that ends batches. Raise `ControlError` if the object cannot end the query's batches."""
    remedy = "stop the query with `queries.drain`, which waits for the end of a batch"
    commands = scala_object()
    if commands is None:
        raise ControlError(
            f"this session has no source {SOURCE!r}, so the batch of query {query.name!r} cannot be ended; run "
            f"`python -m spark_rtm.services control` and add the printed path to `spark.jars`, or {remedy}"
        )
    if not query.isActive:
        raise_if_failed([query])
        raise ControlError(f"query {query.name!r} has stopped, so it has no open batch; restart the query first")
    _wait_for_sources(query, commands)
    number, progress = commands.sources(str(query.runId)), query.lastProgress
    if number < (len(progress.sources) if progress else 1) and str(query.runId) not in _HELD:  # `stop` releases them
        some = "only one source" if number else "no source"
        raise ControlError(
            f"{some} of query {query.name!r} supports commands, so its batch cannot be ended; read each with the "
            f"format {SOURCE!r} in real-time mode, or {remedy}"
        )
    if not commands.reachesExecutors():
        raise ControlError(
            f"commands do not reach the executors of this cluster; add {PLUGIN} to `spark.plugins`, or {remedy}"
        )
    return commands


def _wait_for_sources(query: StreamingQuery, commands: Any) -> None:
    """Wait until a new query has created its sources."""
    end = time.monotonic() + START_SECONDS
    while not commands.sources(str(query.runId)) and not query.lastProgress and time.monotonic() < end:
        _pause(query, POLL_SECONDS)
        if query.status["message"].startswith("Initializing"):
            end = time.monotonic() + START_SECONDS


def scala_object() -> Any:
    """Return the `Commands` object from `control.scala`, or None without its jar or a classic session."""
    context: Any = SparkContext._active_spark_context  # noqa: SLF001 - no public API
    if context is None:
        return None
    commands = context._jvm.spark_rtm.control.Commands  # noqa: SLF001 - no public API
    # For the name of a missing class, Py4J returns a package.
    return None if type(commands).__name__ == "JavaPackage" else commands


def _unread_after(query: StreamingQuery, deadline: _Deadline) -> tuple[int, list[dict[tuple[str, str], int]]]:
    """Commit until all existing records are read or the deadline passes. Return the unread count and end offsets."""
    progress = _committed(query, deadline)
    # A batch that ended at its interval rather than on command reports no latest offsets.
    while LATEST not in progress.sources[0].metrics:
        progress = _committed(query, deadline)
    target = [_by_partition(source.metrics[LATEST]) for source in progress.sources]
    while (unread := _unread(progress, target)) and deadline.left() > 0:
        if not progress.numInputRows:
            _pause(query, IDLE_SECONDS)
        before = progress
        try:
            progress = _committed(query, deadline)
        except TimeoutError:
            break
        if not progress.numInputRows and not before.numInputRows:
            return 0, target
    return unread, target


def _by_partition(offsets: str) -> dict[tuple[str, str], int]:
    return {(topic, number): offset for topic, parts in json.loads(offsets).items() for number, offset in parts.items()}


def _unread(progress: StreamingQueryProgress, target: list[dict[tuple[str, str], int]]) -> int:
    read = [_by_partition(source.endOffset) for source in progress.sources]
    return sum(
        max(0, end - own.get(key, 0)) for ends, own in zip(target, read, strict=True) for key, end in ends.items()
    )


def _pause(query: StreamingQuery, seconds: float) -> None:
    threading.Event().wait(seconds)
    raise_if_failed([query])
    if not query.isActive:
        drained = _HELD.get(str(query.runId))
        how = "by `stop`, so a restart repeats nothing"
        if not drained:
            how = "in the middle of a batch, so a restart repeats the results of this batch"
        raise ControlError(f"query {query.name!r} was stopped {how}")
