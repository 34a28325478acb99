"""A processor that uses the whole state interface and reports all state after each row; it imports only PySpark."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

STEPS = "key string, number long, steps array<struct<name:string,a:string,b:long>>"
REPORTS = "key string, number long, report string, pid long"
FAR_MS = 10**13
"""Delay of a timer that never fires in a test."""


class Reporting(StatefulProcessor):
    """Takes the steps of each row, and reports the state afterwards; the step `due` sets a due timer."""

    def __init__(self, ttl_ms: int = 3_600_000) -> None:
        self._ttl_ms = ttl_ms

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._value = handle.getValueState("value", "a string, b long, c array<struct<d:double>>")
        self._list = handle.getListState("list", "a string, b long", self._ttl_ms)
        self._map = handle.getMapState("map", "a string", "b long")

    def handleInitialState(self, key: Any, initialState: Any, timerValues: TimerValues) -> None:  # noqa: ARG002, N802, N803
        self._value.update((initialState.a, initialState.b, []))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        for row in sorted(rows, key=lambda row: row.number):
            for number, step in enumerate(row.steps):
                self._take(step["name"], step["a"], step["b"], timerValues)
                yield self._report(key, row.number, f"{number} {step['name']} {self._state()}")

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        late_ms = timerValues.getCurrentProcessingTimeInMs() - expiredTimerInfo.getExpiryTimeInMs()
        yield self._report(key, -1, f"late {late_ms} {self._state()}")

    def close(self) -> None:
        pass

    def _take(self, name: str, a: str, b: int, times: TimerValues) -> None:
        steps: dict[str, Callable[[], object]] = {
            "update": lambda: self._value.update((a, b, [(b / 2,)])),
            "forget": self._value.clear,
            "append": lambda: self._list.appendValue((a, b)),
            "extend": lambda: self._list.appendList([(a, b), (a, b + 1)]),
            "put": lambda: self._list.put([(a, b)]),
            "empty": self._list.clear,
            "set": lambda: self._map.updateValue((a,), (b,)),
            "remove": lambda: self._map.removeKey((a,)),
            "clear": self._map.clear,
            "register": lambda: self._handle.registerTimer(FAR_MS + b),
            "delete": lambda: self._handle.deleteTimer(FAR_MS + b),
            "due": lambda: self._handle.registerTimer(times.getCurrentProcessingTimeInMs() + 1_000),
            "fail": lambda: 1 / 0,
        }
        steps[name]()

    def _state(self) -> str:
        value = self._value.get() if self._value.exists() else None
        state = (
            value and (value[0], value[1], [item[0] for item in value[2]]),
            [tuple(item) for item in self._list.get()] if self._list.exists() else None,
            sorted((key[0], item[0]) for key, item in self._map.iterator()),
            sorted(key[0] for key in self._map.keys()),  # noqa: SIM118 - not a dictionary
            [self._map.containsKey(("x",)), self._map.exists() and self._map.getValue(("y",)) is not None],
            sorted(self._handle.listTimers()),
        )
        return json.dumps(state)

    def _report(self, key: Any, number: int, report: str) -> Row:
        return Row(key=key[0], number=number, report=report, pid=os.getpid())


class Counting(Reporting):
    """Reports the count after each row, and once per key that a timer has fired."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._count = handle.getValueState("count", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        for _ in rows:
            before = self._count.get()
            count = before[0] + 1 if before else 1
            if count == 1:
                self._handle.registerTimer(timerValues.getCurrentProcessingTimeInMs())
            self._count.update((count,))
            yield Row(key=key[0], value=f"{key[0]} {count}")

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        yield Row(key=key[0], value=f"{key[0]} timer")
