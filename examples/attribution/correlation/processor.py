"""
Define the stateful processor that loads, evaluates and stores a transaction, and emits its timeouts.

`advance` applies the correlation rule over time without Spark: it keeps state, emits timeouts, and removes old state.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from examples.attribution.correlation.rule import HISTORY, Event, Result, correlate, distinct
from examples.attribution.correlation.windows import Windows
from examples.attribution.schemas import struct_of
from spark_rtm.realtime.timers import move_timer

# The names are in the order of the tuple that `_advance` writes. Checkpoints contain the names, so do not rename them.
TIMES = ("evaluated_at", "last_record_at", "timer_at")
HISTORY_FIELD = StructField("history", ArrayType(struct_of(Event)))
TRANSACTION = StructType([HISTORY_FIELD, *(StructField(name, LongType()) for name in TIMES)])
"""Schema of the value state: the fields of a `Transaction`, and the time of the timer."""


@dataclass(frozen=True)
class Transaction:
    """The state of one transaction. Times are processing times in UTC milliseconds, and 0 means never."""

    history: tuple[Event, ...] = ()
    """The distinct records in order of arrival, up to the maximum number of events."""
    evaluated_at: int = 0
    """Time of the last evaluation."""
    last_record_at: int = 0
    """Time of the last new record."""


@dataclass(frozen=True)
class Transition:
    """The outcome of one evaluation of a transaction."""

    transaction: Transaction | None
    """The new state. It is None if the transaction has ended."""
    timeouts: list[Result]
    """New timeouts, and earlier timeouts whose version a new record has increased."""
    next_timer_at: int
    """The next time at which, if no record arrives, a result times out or the transaction ends."""


def advance(before: Transaction, arrived: Iterable[Event], windows: Windows, slack_ms: int, now: int) -> Transition:
    """
    Evaluate a transaction at `now`, with or without new events, and return its timeouts.

    A real-time query emits all other results. It may already have emitted a pending result for a new record, so each
    timeout is returned again with the version that replaces that result. The state does not keep records beyond the
    maximum number of events.
    """
    records = distinct((*before.history, *arrived))
    has_new_records = len(records) > len(before.history)
    after = Transaction(
        tuple(records[: windows.max_events]),
        max(before.evaluated_at, now),
        max(before.last_record_at, now) if has_new_records else before.last_record_at,
    )
    current = correlate(after.history, windows, after.evaluated_at)
    # Only timeouts have odd versions.
    timeouts = [result for result in current if result.version % 2]
    # The previous results are needed only if there are timeouts. Most records cause none.
    previous = set(correlate(before.history, windows, before.evaluated_at)) if timeouts else set()
    # An event at the deadline still matches, so the timeout is one millisecond later.
    timeouts_at = [result.deadline + 1 for result in current if result.deadline is not None]
    next_timer_at = min(timeouts_at, default=_ends_at(after, windows, slack_ms))
    new_timeouts = [result for result in timeouts if result not in previous]
    return Transition(after if next_timer_at > after.evaluated_at else None, new_timeouts, next_timer_at)


def _ends_at(transaction: Transaction, windows: Windows, slack_ms: int) -> int:
    # While the query reads a backlog, an old transaction's horizon has already passed when its first record arrives.
    # The remaining records arrive shortly after the first one, so the state is kept until the slack has passed.
    oldest_request_ts = min((event.request_ts for event in transaction.history), default=0)
    return max(oldest_request_ts + windows.horizon_ms, transaction.last_record_at) + slack_ms


class CorrelationProcessor(StatefulProcessor):
    """
    Keeps each transaction in one value state, because each state access is a round trip.

    Each transaction has one timer. The timer is set to the next deadline or, if no result is pending, to the time at
    which the state expires. A TTL removes state that the timer fails to remove.
    """

    def __init__(self, windows: Windows, slack_ms: int) -> None:
        self._windows = windows
        self._slack_ms = slack_ms

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state. The TTL is twice the maximum time until the last timer fires."""
        ttl_ms = 2 * (self._windows.horizon_ms + self._slack_ms)
        self._handle = handle
        self._transaction = handle.getValueState("transaction", TRANSACTION, ttl_ms)

    def handleInputRows(  # noqa: D102, N802  # the interface defines name and description
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        arrived = [_event([row[name] for name in HISTORY]) for row in rows]
        return self._advance(arrived, timerValues.getCurrentProcessingTimeInMs())

    def handleExpiredTimer(  # noqa: D102, N802
        self,
        key: Any,  # noqa: ARG002
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        fired_ms = expiredTimerInfo.getExpiryTimeInMs()
        return self._advance([], timerValues.getCurrentProcessingTimeInMs(), fired_ms)

    def close(self) -> None:
        """Do nothing: the processor holds no resources."""

    def _advance(self, arrived: list[Event], now: int, fired_ms: int = 0) -> Iterator[Row]:
        history, evaluated_at, last_record_at, timer_ms = self._transaction.get() or ((), 0, 0, 0)
        before = Transaction(tuple(map(_event, history)), evaluated_at, last_record_at)
        outcome = advance(before, arrived, self._windows, self._slack_ms, now)
        after = outcome.transaction
        if after:
            events = [_fields(event) for event in after.history]
            self._transaction.update((events, after.evaluated_at, after.last_record_at, outcome.next_timer_at))
        else:
            self._transaction.clear()
        move_timer(self._handle, timer_ms, outcome.next_timer_at if after else 0, fired_ms)
        return iter([Row(**vars(result)) for result in outcome.timeouts])


def _event(values: Any) -> Event:
    fields = dict(zip(HISTORY, values, strict=True))
    return Event(**{**fields, "slots": tuple(fields["slots"] or ()), "clock_skew": bool(fields["clock_skew"])})


def _fields(event: Event) -> tuple[Any, ...]:
    return tuple(list(event.slots) if name == "slots" else getattr(event, name) for name in HISTORY)
