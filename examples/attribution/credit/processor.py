"""
The stateful processor of the credit hop: per user it loads the path, asks `credit_news`, and stores what has changed.

What arrives are touches, conversions and requests for erasure of one user; what leaves are `Credited` answers.
Real-time mode demands that one row per call and many rows per call end in the same answers, because it makes the calls
that micro-batch saves; Python processors run in it on Databricks, and only in micro-batch on open-source Spark 4.3.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, replace
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from examples.attribution.credit.history import Path, wakes_at
from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, Credited, Touch
from examples.attribution.credit.update import News, advance
from examples.realtime.timers import move_timer

TOUCH = StructType(
    [
        StructField("result_id", StringType()),
        StructField("version", LongType()),
        StructField("kind", StringType()),
        StructField("is_valid", BooleanType()),
        StructField("effective_ts", LongType()),
        StructField("event_id", StringType()),
        StructField("impression_id", StringType()),
        StructField("campaign_id", StringType()),
        StructField("stored_at", LongType()),
    ]
)
"""One `credit_rule.Touch`, field by field."""

CONVERSION = StructType(
    [
        StructField("src", StringType()),
        StructField("advertiser_id", StringType()),
        StructField("order_id", StringType()),
        StructField("effective_ts", LongType()),
        StructField("event_id", StringType()),
        StructField("value_micros", LongType()),
        StructField("appended_at", LongType()),
        StructField("stored_at", LongType()),
        StructField("seen_at", LongType()),
    ]
)
"""One `credit_rule.Conversion`, field by field."""

TOUCH_ID = StructType(TOUCH.fields[:2])
NUMBERS = (*("known", "looked_at", "active_at", "erased_at", "forgotten_ts"), *("touches", "conversions", "wakes_at"))
USER = StructType([StructField(name, LongType()) for name in NUMBERS])
"""The times and counts of a `Path`, how many touches and conversions the other states hold, and the timer."""


class CreditProcessor(StatefulProcessor):
    """
    Map state holds the touches, list state the conversions, value state the rest and the one timer of the user.

    The timer stands at the next time with something to do, or earlier; the last ends the state. TTL is the second net.
    """

    def __init__(self, rules: CreditRules) -> None:
        self._rules = rules

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state; its TTL is twice what the timers need."""
        ttl_ms = 2 * (self._rules.retention_ms + self._rules.settle_ms)
        self._handle = handle
        self._touches = handle.getMapState("touches", TOUCH_ID, TOUCH, ttl_ms)
        self._conversions = handle.getListState("conversions", CONVERSION, ttl_ms)
        self._user = handle.getValueState("user", USER, ttl_ms)

    def handleInputRows(  # noqa: D102, N802  # the interface names and describes it
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        now = timerValues.getCurrentProcessingTimeInMs()
        return self._advance(key[0], _news(rows, now), now)

    def handleExpiredTimer(  # noqa: D102, N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        fired_ms = expiredTimerInfo.getExpiryTimeInMs()
        return self._advance(key[0], News(), timerValues.getCurrentProcessingTimeInMs(), fired_ms)

    def close(self) -> None:
        """Hold nothing that has to be closed."""

    def _advance(self, user: str, news: News, now: int, fired_ms: int = 0) -> Iterator[Row]:
        path, stands_ms = self._load()
        kept, changed = advance(path, user, news, self._rules, now)
        next_ms = wakes_at(kept, self._rules) if kept else 0
        if 0 < stands_ms < next_ms and stands_ms != fired_ms:
            # Each record moves the end of the state; to look once too early costs less than to move the timer along.
            next_ms = stands_ms
        if kept:
            self._store(path, kept, next_ms)
        else:
            self._clear(path)
        move_timer(self._handle, stands_ms, next_ms, fired_ms)
        return iter([_row(answer) for answer in changed])

    def _load(self) -> tuple[Path, int]:
        user = self._user.get()
        if user is None:  # every question to the state is a round trip
            return Path(), 0
        *times, touches, conversions, stands_ms = user
        known = (Touch(*value) for _, value in self._touches.iterator()) if touches else ()
        records = (Conversion(*value) for value in self._conversions.get()) if conversions else ()
        path = Path({(touch.result_id, touch.version): touch for touch in known}, {r.src: r for r in records}, *times)
        return path, stands_ms

    def _clear(self, before: Path) -> None:
        self._user.clear()
        if before.touches:
            self._touches.clear()
        if before.conversions:
            self._conversions.clear()

    def _store(self, before: Path, path: Path, next_ms: int) -> None:
        for touch_id in before.touches.keys() - path.touches.keys():
            self._touches.removeKey(touch_id)
        for touch_id, touch in path.touches.items():
            if before.touches.get(touch_id) != touch:
                self._touches.updateValue(touch_id, astuple(touch))
        if before.conversions != path.conversions:
            if path.conversions:
                self._conversions.put([astuple(record) for record in path.conversions.values()])
            else:
                self._conversions.clear()  # the engine refuses to store an empty list
        times = (path.known, path.looked_at, path.active_at, path.erased_at, path.forgotten_ts)
        self._user.update((*times, len(path.touches), len(path.conversions), next_ms))


def _news(rows: Iterable[Row], now: int) -> News:
    touches, conversions, erased_at = [], [], 0
    for row in rows:
        if row.touch is not None:
            # Spark's tester gives a nested Row where the engine gives a dict; both know their fields by name.
            touches.append(Touch(*(row.touch[name] for name in TOUCH.names)))
        elif row.conversion is not None:
            record = Conversion(*(row.conversion[name] for name in CONVERSION.names))
            conversions.append(replace(record, seen_at=now))
        else:
            erased_at = max(erased_at, row.stored_at)
    return News(tuple(touches), tuple(conversions), erased_at)


def _row(answer: Credited) -> Row:
    return Row(**{**asdict(answer), "credits": [Row(**asdict(credit)) for credit in answer.credits]})
