"""
Keep streaming queries running: restart them after transient failures, and give up after permanent failures.

Real-time mode does not retry a stateful query's tasks, so the query fails when an executor is lost. A restarted
query continues from its checkpoint.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from .control import ControlError, commit, stop_all
from .failures import INTERRUPTED, NOT_EMPTY, SECOND_WRITER, Failure, Kind, failure_of
from .limits import DEADLINE_SECONDS
from .queries import QueryFailedError, clear_first_commit, stop_completely, stop_on_interrupt
from .standby import LostLockError, Standby, leading

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.2

Starter = Callable[[], "StreamingQuery"]
"""Function that checks the free task slots and starts a query on its checkpoint. Each restart calls it again."""


@dataclass(frozen=True)
class Limits:
    """Limits on the keeper's restarts and on the pauses before restarts."""

    first_pause_seconds: float = 1
    """Pause before the first restart. Each further failure in the window doubles the pause."""
    max_pause_seconds: float = 60
    """Maximum pause before a restart."""
    max_failures: int = 5
    """Number of failures after which the keeper gives up: in the window, or without a finished batch between them."""
    window_seconds: float = 600
    """Age after which the keeper ignores failures."""


@dataclass(frozen=True)
class Decision:
    """The keeper's action after a failure, and its reason."""

    failure: Failure
    reason: str
    pause_seconds: float | None
    """Seconds until the restart, or None if the keeper gives up."""

    def __str__(self) -> str:
        """Return a message with the failure, its consequence and the remedy."""
        failure = self.failure
        place = f" after the committed offsets {failure.offsets}" if failure.offsets else ""
        consequence = (
            "it is not restarted"
            if self.pause_seconds is None
            else f"it restarts from its checkpoint in {self.pause_seconds:g} s"
        )
        return (
            f"query {failure.query_name!r} failed with {failure.name}{place}; {self.reason}, so {consequence}; "
            f"{failure.remedy}: {failure.message}"
        )


class GaveUpError(RuntimeError):
    """Raised if a query has failed permanently. The `decision` attribute contains the reason and the remedy."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(str(decision))
        self.decision = decision


def judge(failure: Failure, history: Sequence[Failure], limits: Limits | None = None) -> Decision:
    """
    Decide whether to restart a query after `failure`. `history` contains the earlier failures of all queries.

    The first failure caused by a poison record looks transient. A poison record makes every restart fail with the same
    error at the same offsets.
    """
    limits = limits or Limits()
    recent = [old for old in history if failure.at - old.at <= limits.window_seconds]
    own = [old for old in recent if old.query_name == failure.query_name]
    kind, count = failure.cause.kind, len(own) + 1
    # If an executor is lost between two batches, the only symptom is a lack of slots. At a restart, tasks of other
    # queries that failed at the same time can still occupy slots briefly.
    had_slots = failure.has_run or bool(own) or any(old.cause.kind in (Kind.TRANSIENT, Kind.SLOTS) for old in recent)
    if kind is Kind.PERMANENT or (kind is Kind.SLOTS and not had_slots):
        return Decision(failure, failure.cause.what, None)
    if kind is Kind.UNKNOWN and any(failure.is_same_as(old) for old in own):
        reason = "the same error at the same offsets twice: the next record probably makes each restart fail"
        return Decision(failure, reason, None)
    if count >= limits.max_failures:
        reason = f"{failure.cause.what}, and this was failure {count} within {limits.window_seconds:g} s"
        return Decision(failure, reason, None)
    if (stuck := 1 + _count_without_progress(failure, history)) >= limits.max_failures:
        reason = f"{failure.cause.what}, and this was failure {stuck} at the same offsets without a finished batch"
        return Decision(failure, reason, None)
    pause_seconds = min(limits.first_pause_seconds * 2 ** len(own), limits.max_pause_seconds)
    return Decision(failure, f"{failure.cause.what} (failure {count} of {limits.max_failures})", pause_seconds)


def _count_without_progress(failure: Failure, history: Sequence[Failure]) -> int:
    """Count the query's last failures at the same offsets without a finished batch between them."""
    runs, later = 0, failure
    for earlier in (old for old in reversed(history) if old.query_name == failure.query_name):
        if later.has_run or earlier.offsets != failure.offsets:
            break
        runs, later = runs + 1, earlier
    return runs


def log_decision(decision: Decision) -> None:
    """Log a restart as a warning, and a permanent failure as an error."""
    LOG.log(logging.ERROR if decision.pause_seconds is None else logging.WARNING, "%s", decision)


class Keeper:
    """A supervisor that starts queries, and restarts or ends them as `judge` decides. `keep` calls `poll` in a loop."""

    def __init__(
        self,
        spark: SparkSession,
        starters: Mapping[str, Starter],
        limits: Limits | None = None,
        on_decision: Callable[[Decision], object] = log_decision,
    ) -> None:
        """Create a keeper. `starters` maps each query name to the function that starts the query."""
        self.queries: dict[str, StreamingQuery] = {}
        """Each query's current run, or its failed run while the query waits for a restart."""
        self.history: list[Failure] = []
        if not hasattr(spark, "_jvm"):
            raise RuntimeError(
                "the keeper cannot detect when a stopped query's tasks end, because this is a Spark Connect session; "
                "use a classic session (on Databricks, dedicated access mode), or restart the job from outside"
            )
        self._spark, self._starters = spark, dict(starters)
        self._limits, self._on_decision = limits or Limits(), on_decision
        self._due: dict[str, float] = {}
        self.is_over = False
        """Whether `stop` or `step_down` has been called."""

    def start(self) -> None:
        """Start all queries. If a query cannot start, stop the started queries and raise the exception."""
        try:
            for name, starter in self._starters.items():
                self.queries[name] = starter()
        except BaseException:
            self.stop()
            raise

    def poll(self) -> bool:
        """
        Judge new failures, restart queries after their pauses, and return whether any query remains.

        Raises `GaveUpError` if a query cannot continue. Does not restart queries that were stopped on purpose.
        """
        for name, query in self.queries.items():
            if name in self._due:
                if time.monotonic() >= self._due[name]:
                    self._restart(name)
            elif error := query.exception():
                has_run = query.lastProgress is not None
                self._decide(failure_of(name, error, time.monotonic(), has_run=has_run))
        return bool(self._due) or any(query.isActive for query in self.queries.values())

    def commit_every(self, seconds: float, stop: threading.Event, names: Iterable[str] = ()) -> None:
        """Commit the batches of some or all queries every few seconds in threads that end with `stop` or the keeper."""
        for name in names or self._starters:
            committing = partial(_commit_every, self, name, seconds, stop)
            threading.Thread(target=committing, name=f"commit {name}", daemon=True).start()

    def stop(self, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        """Stop all queries, and wait until their tasks have ended. First drain the queries that support commands."""
        self._due.clear()
        self.is_over = True
        stop_all(self._spark, self.queries.values(), deadline_seconds)

    def step_down(self) -> None:
        """Stop all queries in the middle of their batches so that they do not compete with a second process."""
        self._due.clear()
        self.is_over = True
        stop_completely(self._spark, *self.queries.values())

    def _restart(self, name: str) -> None:
        try:
            # Spark rejects a second run while the first run is active, and a task that outlives its query would write
            # records again.
            stop_completely(self._spark, self.queries[name])
            query = self._starters[name]()
        except Exception as error:  # noqa: BLE001 - `judge` handles every failure
            self._decide(failure_of(name, error, time.monotonic()))
        else:
            self.queries[name] = query
            del self._due[name]

    def _decide(self, failure: Failure) -> None:
        if failure.name == NOT_EMPTY and clear_first_commit(self._spark, failure.message):
            failure = replace(failure, cause=INTERRUPTED, remedy=INTERRUPTED.remedy)
        decision = judge(failure, self.history, self._limits)
        self.history.append(failure)
        self._on_decision(decision)
        if decision.pause_seconds is None:
            if failure.cause is SECOND_WRITER:
                self.step_down()
            raise GaveUpError(decision)
        self._due[failure.query_name] = failure.at + decision.pause_seconds


def _commit_every(keeper: Keeper, name: str, seconds: float, stop: threading.Event) -> None:
    """Commit a query's batches periodically until `stop` is set or it ends. The keeper's `poll` handles failures."""
    refused = None
    while not stop.wait(seconds) and not keeper.is_over:
        query = keeper.queries[name]
        try:
            if query.isActive and query is not refused:
                commit(query)
        except ControlError as error:
            # A run that fails or stops also refuses commands for a moment. Its restart accepts them.
            if query.isActive and not stop.is_set():
                LOG.warning("query %r commits only at its interval, not every %g s: %s", name, seconds, error)
                refused = query
        except (QueryFailedError, TimeoutError) as error:
            LOG.debug("query %r has not committed: %s", name, error)


def _stop_while_leading(keeper: Keeper, check_lock: Callable[[], None], deadline_seconds: float) -> None:
    """Drain and stop all queries. Step down as soon as another process can lead."""
    is_stopped, lost = threading.Event(), list[LostLockError]()

    def watch() -> None:
        try:
            while not is_stopped.wait(POLL_SECONDS):
                check_lock()
        except LostLockError as error:
            lost.append(error)
            keeper.step_down()

    watcher = threading.Thread(target=watch, name="lock", daemon=True)
    watcher.start()
    try:
        keeper.stop(deadline_seconds)
    finally:
        is_stopped.set()
        watcher.join()
    if lost:
        raise lost[0]


def keep(
    spark: SparkSession,
    starters: Mapping[str, Starter],
    stop: threading.Event | None = None,
    limits: Limits | None = None,
    standby: Standby | None = None,
    deadline_seconds: float = DEADLINE_SECONDS,
    commit_every: float | None = None,
) -> None:
    """
    Start queries and keep them running until `stop` is set, all queries are stopped, or a query cannot continue.

    With `standby`, first wait until no other process runs the queries. `commit_every` is the number of seconds between
    two commits of a query, and requires the `rtm-kafka` source. By default, a query commits at its trigger interval. At
    the end, all queries together have `deadline_seconds` to drain. Queries that miss the deadline stop in mid-batch.
    Without `stop`, Ctrl-C and SIGTERM end a call from the main thread, the only thread in which Python handles signals.
    When the function returns or raises, the queries have stopped. Raises `GaveUpError` if a query cannot continue,
    `LostLockError` if another process can lead, and the exception of a query that cannot start.
    """
    if stop is None:
        stop = threading.Event()
        if threading.current_thread() is threading.main_thread():
            stop_on_interrupt(stop)
    keeper = Keeper(spark, starters, limits)
    with leading(spark, standby, stop) if standby else nullcontext(lambda: None) as check_lock:
        if not check_lock:
            return
        keeper.start()
        if commit_every:
            keeper.commit_every(commit_every, stop)
        try:
            is_over = False
            while not is_over:
                is_over = stop.wait(POLL_SECONDS)
                check_lock()
                is_over = is_over or not keeper.poll()
        except LostLockError:
            keeper.step_down()
            raise
        finally:
            _stop_while_leading(keeper, check_lock, deadline_seconds)
