"""Define the stateful processor that loads, evaluates and stores a transaction, and emits its timeouts."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import LongType, StructField, StructType

from examples.attribution.correlation.rule import Event
from examples.attribution.correlation.schemas import HISTORY
from examples.attribution.correlation.timeouts import Transaction, Transition, advance
from examples.attribution.schemas import struct_of
from examples.attribution.settings import Settings
from spark_rtm.realtime.timers import move_timer

EVENT = struct_of(Event)
# The names are in the order of the tuple that `_store` writes. Checkpoints contain the names, so do not rename them.
STATE_FIELDS = ("others", "looked_at", "active_at", "wakes_at")
TRANSACTION = StructType([StructField("request", EVENT), *(StructField(name, LongType()) for name in STATE_FIELDS)])
"""Schema of the value state: the first request or null, the number of other records, and the three times."""


class CorrelationProcessor(StatefulProcessor):
    """
    Keeps the first request and the times in value state, and all other records in list state.

    Each transaction has one timer. The timer is set to the next deadline or, if no result is pending, to the time at
    which the state expires. A TTL removes state that the timer fails to remove.
    """

    def __init__(self, settings: Settings) -> None:
        self._windows = settings.windows
        self._slack_ms = settings.watermark_slack_ms

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state. The TTL is twice the maximum time until the last timer fires."""
        ttl_ms = 2 * (self._windows.horizon_ms + self._slack_ms)
        self._handle = handle
        self._transaction = handle.getValueState("transaction", TRANSACTION, ttl_ms)
        self._others = handle.getListState("others", EVENT, ttl_ms)

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
        before, timer_ms = self._load()
        outcome = advance(before, arrived, self._windows, self._slack_ms, now)
        self._store(before, outcome)
        move_timer(self._handle, timer_ms, outcome.next_timer_at if outcome.transaction else 0, fired_ms)
        return iter([Row(**vars(result)) for result in outcome.timeouts])

    def _load(self) -> tuple[Transaction, int]:
        stored = self._transaction.get()
        if stored is None:  # each state access is a round trip, so do not read the list
            return Transaction(), 0
        request, others, evaluated_at, last_record_at, timer_ms = stored
        history = [*([request] if request else []), *(self._others.get() if others else [])]
        return Transaction(tuple(_event(fields) for fields in history), evaluated_at, last_record_at), timer_ms

    def _store(self, before: Transaction, outcome: Transition) -> None:
        after, known_records = outcome.transaction, len(before.history)
        if after is None:
            self._transaction.clear()
            if known_records:
                self._others.clear()
            return
        request = _first_request(after)
        new_others = [_fields(event) for event in after.history[known_records:] if event is not request]
        if new_others:
            self._others.appendList(new_others)
        others = len(after.history) - (request is not None)
        fields = request and _fields(request)
        self._transaction.update((fields, others, after.evaluated_at, after.last_record_at, outcome.next_timer_at))


def _first_request(transaction: Transaction) -> Event | None:
    # The value state holds the request that arrived first. All later requests are in the list state, even those with an
    # earlier event time.
    return next((event for event in transaction.history if event.kind == "request"), None)


def _event(values: Any) -> Event:
    fields = dict(zip(HISTORY, values, strict=True))
    return Event(**{**fields, "slots": tuple(fields["slots"] or ()), "clock_skew": bool(fields["clock_skew"])})


def _fields(event: Event) -> tuple[Any, ...]:
    return tuple(list(event.slots) if name == "slots" else getattr(event, name) for name in HISTORY)
