"""Count the rows of each key in value state with one timer per key, as `counted.scala` does."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

TIMER_MS = 1_000
TTL_MS = 3_600_000
COUNTS = "key string, number long, count long, appended_ts long"
"""The result of a row or of a timer. A timer's result has no `number`, and its due time is in `appended_ts`."""


class Counted(StatefulProcessor):
    """Emits the count of a key for each of its rows, and once a second while rows arrive."""

    def init(self, handle: StatefulProcessorHandle) -> None:  # noqa: D102
        self._handle = handle
        self._stored = handle.getValueState("stored", "count long, due_ts long", TTL_MS)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: D102, N802, N803
        for row in rows:
            count, due_ts = self._stored.get() or (0, 0)
            if not due_ts:
                due_ts = timerValues.getCurrentProcessingTimeInMs() + TIMER_MS
                self._handle.registerTimer(due_ts)
            self._stored.update((count + 1, due_ts))
            yield Row(key=key[0], number=row.number, count=count + 1, appended_ts=row.appended_ts)

    def handleExpiredTimer(  # noqa: D102, N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: ARG002, N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        count, _ = self._stored.get() or (0, 0)
        self._stored.update((count, 0))
        yield Row(key=key[0], number=None, count=count, appended_ts=expiredTimerInfo.getExpiryTimeInMs())

    def close(self) -> None:  # noqa: D102
        pass
