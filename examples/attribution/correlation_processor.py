"""
The stateful processor of the correlation: it loads a transaction, asks `correlation_timing`, and stores what is new.

What arrives are events of one transaction; what leaves are results with the ids and versions of the SQL form.
Real-time mode demands one row per call and many rows per call to end alike, and a timer for whatever waits; Python
processors run in it on Databricks, and only in micro-batch on open-source Spark 4.3.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import StructType

from examples.attribution.correlation_rule import Event
from examples.attribution.correlation_sql import HISTORY
from examples.attribution.correlation_timing import Step, Transaction, advance, is_due
from examples.attribution.kafka_to_events import EVENTS
from examples.attribution.timers import move_timer
from examples.settings import Settings

EVENT = StructType([EVENTS[name] for name in HISTORY])
CLOCK = "looked_at long, active_at long, wakes_at long"


class CorrelationProcessor(StatefulProcessor):
    """
    Value state holds the request, list state whatever came before or after it, a second value state the clock.

    One timer stands at the next deadline; when nothing waits any more, at the end of the state. TTL is the second net.
    """

    def __init__(self, settings: Settings, *, only_due: bool = False) -> None:
        """With `only_due`, leave what records decide to a real-time query that runs beside this one."""
        self._windows, self._slack_ms, self._only_due = settings.windows, settings.watermark_slack_ms, only_due

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state; its TTL is twice what the timers need."""
        ttl_ms = 2 * (self._windows.horizon_ms + self._slack_ms)
        self._handle = handle
        self._request = handle.getValueState("request", EVENT, ttl_ms)
        self._others = handle.getListState("others", EVENT, ttl_ms)
        self._clock = handle.getValueState("clock", CLOCK, ttl_ms)

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
        step = advance(before, arrived, self._windows, self._slack_ms, now)
        self._store(before, step)
        move_timer(self._handle, wakes_at_ms, step.wakes_at if step.transaction else 0, fired_ms)
        return iter([Row(**asdict(result)) for result in step.changed if is_due(result) or not self._only_due])

    def _load(self) -> tuple[Transaction, int]:
        clock = self._clock.get()
        if clock is None:  # every question to the state is a round trip
            return Transaction(), 0
        looked_at, active_at, wakes_at_ms = clock
        request = self._request.get()
        history = [*([request] if request else []), *self._others.get()]
        return Transaction(tuple(_event(fields) for fields in history), looked_at, active_at), wakes_at_ms

    def _store(self, before: Transaction, step: Step) -> None:
        after = step.transaction
        if after is None:
            for state in (self._request, self._others, self._clock):
                state.clear()
            return
        new = list(after.history[len(before.history) :])
        if not any(event.kind == "request" for event in before.history):
            request = next((event for event in new if event.kind == "request"), None)
            if request:
                self._request.update(_fields(request))
                new.remove(request)
        if new:
            self._others.appendList([_fields(event) for event in new])
        self._clock.update((after.looked_at, after.active_at, step.wakes_at))


def _event(values: Any) -> Event:
    fields = dict(zip(HISTORY, values, strict=True))
    return Event(**{**fields, "slots": tuple(fields["slots"] or ()), "clock_skew": bool(fields["clock_skew"])})


def _fields(event: Event) -> tuple[Any, ...]:
    fields = {**asdict(event), "slots": list(event.slots)}
    return tuple(fields[name] for name in HISTORY)
