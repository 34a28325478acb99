"""
The stateful processor of the correlation: it loads a transaction, asks `correlation_timing`, and stores what is new.

What arrives are events of one transaction; what leaves are results with the ids and versions of the SQL form.
Real-time mode demands one row per call and many rows per call to end alike, and a timer for whatever waits; Python
processors run in it on Databricks, and only in micro-batch on open-source Spark 4.3.
"""

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
from examples.attribution.correlation.sql import HISTORY
from examples.attribution.correlation.timeouts import Step, Transaction, advance
from examples.attribution.events import EVENTS
from examples.attribution.settings import Settings
from examples.realtime.timers import move_timer

EVENT = StructType([EVENTS[name] for name in HISTORY])
NUMBERS = ("others", "looked_at", "active_at", "wakes_at")
TRANSACTION = StructType([StructField("request", EVENT), *(StructField(name, LongType()) for name in NUMBERS)])
"""The request, if it has come, how many other records there are, the two times of the transaction, and its timer."""


class CorrelationProcessor(StatefulProcessor):
    """
    Value state holds the request and the clock, list state whatever came before or after the request.

    One timer stands at the next deadline; when nothing waits any more, at the end of the state. TTL is the second net.
    """

    def __init__(self, settings: Settings, *, only_due: bool = False) -> None:
        """With `only_due`, leave what records decide to a real-time query that runs beside this one."""
        self._windows, self._slack_ms, self._only_due = settings.windows, settings.watermark_slack_ms, only_due

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state; its TTL is twice what the timers need."""
        ttl_ms = 2 * (self._windows.horizon_ms + self._slack_ms)
        self._handle = handle
        self._transaction = handle.getValueState("transaction", TRANSACTION, ttl_ms)
        self._others = handle.getListState("others", EVENT, ttl_ms)

    def handleInputRows(  # noqa: D102, N802  # the interface names and describes it
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
        """Hold nothing that has to be closed."""

    def _advance(self, arrived: list[Event], now: int, fired_ms: int = 0) -> Iterator[Row]:
        before, wakes_at_ms = self._load()
        step = advance(before, arrived, self._windows, self._slack_ms, now, only_due=self._only_due)
        self._store(before, step)
        move_timer(self._handle, wakes_at_ms, step.wakes_at if step.transaction else 0, fired_ms)
        return iter([Row(**vars(result)) for result in step.changed])

    def _load(self) -> tuple[Transaction, int]:
        kept = self._transaction.get()
        if kept is None:  # every question to the state is a round trip
            return Transaction(), 0
        request, others, looked_at, active_at, wakes_at_ms = kept
        history = [*([request] if request else []), *(self._others.get() if others else [])]
        return Transaction(tuple(_event(fields) for fields in history), looked_at, active_at), wakes_at_ms

    def _store(self, before: Transaction, step: Step) -> None:
        after, known = step.transaction, len(before.history)
        if after is None:
            self._transaction.clear()
            if known:
                self._others.clear()
            return
        request = _request(after)
        new = [_fields(event) for event in after.history[known:] if event is not request]
        if new:
            self._others.appendList(new)
        others = len(after.history) - (request is not None)
        fields = request and _fields(request)
        self._transaction.update((fields, others, after.looked_at, after.active_at, step.wakes_at))


def _request(transaction: Transaction) -> Event | None:
    # The first to arrive: a later one that counts instead is in the list already, or goes there.
    return next((event for event in transaction.history if event.kind == "request"), None)


def _event(values: Any) -> Event:
    fields = dict(zip(HISTORY, values, strict=True))
    return Event(**{**fields, "slots": tuple(fields["slots"] or ()), "clock_skew": bool(fields["clock_skew"])})


def _fields(event: Event) -> tuple[Any, ...]:
    return tuple(list(event.slots) if name == "slots" else getattr(event, name) for name in HISTORY)
