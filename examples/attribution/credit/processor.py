"""
Define the stateful processor that loads, evaluates and stores a user's state, and emits the changed credit.

The processor calls `history.advance` to evaluate the state. Spark can pass one row or many rows per call. The newest
version of each credit is the same in both cases. Databricks runs Python processors in real-time mode, but OSS 4.3.0
runs them only in micro-batch mode.
"""

from collections.abc import Iterable, Iterator
from dataclasses import astuple, replace
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import LongType, StructField, StructType

from examples.attribution.credit.history import Update, UserHistory, advance, next_timer_at
from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, OrderCredit, Touch
from examples.attribution.schemas import struct_of
from spark_rtm.realtime.timers import move_timer

TOUCH, CONVERSION = struct_of(Touch), struct_of(Conversion)
TOUCH_ID = StructType(TOUCH.fields[:2])
# The names are in the order of the tuple that `_store` writes. Checkpoints contain the names, so do not rename them.
STATE_FIELDS = (
    *("known", "looked_at", "active_at", "erased_at", "forgotten_ts"),
    *("touches", "conversions", "wakes_at"),
)
USER = StructType([StructField(name, LongType()) for name in STATE_FIELDS])
"""
Schema of the value state: the record count and the times of a `UserHistory`, and the time of the timer.

The value state also contains the numbers of touches and conversions in the other states.
"""


class CreditProcessor(StatefulProcessor):
    """
    Keeps touches in map state, conversions in list state, and all other values in value state.

    Each user has one timer, which is set to the next deadline or to an earlier time. The last timer removes the state.
    A TTL removes state that the timer fails to remove.
    """

    def __init__(self, rules: CreditRules) -> None:
        self._rules = rules

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state. The TTL is twice the maximum time until the last timer fires."""
        ttl_ms = 2 * (self._rules.retention_ms + self._rules.settle_ms)
        self._handle = handle
        self._touches = handle.getMapState("touches", TOUCH_ID, TOUCH, ttl_ms)
        self._conversions = handle.getListState("conversions", CONVERSION, ttl_ms)
        self._user = handle.getValueState("user", USER, ttl_ms)

    def handleInputRows(  # noqa: D102, N802  # the interface defines name and description
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        now = timerValues.getCurrentProcessingTimeInMs()
        return self._advance(key[0], _update(rows, now), now)

    def handleExpiredTimer(  # noqa: D102, N802
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        fired_ms = expiredTimerInfo.getExpiryTimeInMs()
        return self._advance(key[0], Update(), timerValues.getCurrentProcessingTimeInMs(), fired_ms)

    def close(self) -> None:
        """Do nothing: the processor holds no resources."""

    def _advance(self, user: str, update: Update, now: int, fired_ms: int = 0) -> Iterator[Row]:
        before, timer_ms = self._load()
        after, changed = advance(before, user, update, self._rules, now)
        next_ms = next_timer_at(after, self._rules) if after else 0
        if 0 < timer_ms < next_ms and timer_ms != fired_ms:
            # Every record postpones the end of the state. Keeping the timer, although it then fires early, costs less
            # than moving the timer with every record.
            next_ms = timer_ms
        if after:
            self._store(before, after, next_ms)
        else:
            self._clear(before)
        move_timer(self._handle, timer_ms, next_ms, fired_ms)
        return iter([_row(credit) for credit in changed])

    def _load(self) -> tuple[UserHistory, int]:
        stored = self._user.get()
        if stored is None:  # each state access is a round trip, so do not read the collections
            return UserHistory(), 0
        *times, touch_count, conversion_count, timer_ms = stored
        touches = [Touch(*value) for _, value in self._touches.iterator()] if touch_count else []
        conversions = [Conversion(*value) for value in self._conversions.get()] if conversion_count else []
        history = UserHistory(
            {(touch.result_id, touch.version): touch for touch in touches},
            {record.src: record for record in conversions},
            *times,
        )
        return history, timer_ms

    def _clear(self, before: UserHistory) -> None:
        self._user.clear()
        if before.touches:
            self._touches.clear()
        if before.conversions:
            self._conversions.clear()

    def _store(self, before: UserHistory, after: UserHistory, next_ms: int) -> None:
        for touch_id in before.touches.keys() - after.touches.keys():
            self._touches.removeKey(touch_id)
        for touch_id, touch in after.touches.items():
            if before.touches.get(touch_id) != touch:
                self._touches.updateValue(touch_id, astuple(touch))
        if before.conversions != after.conversions:
            if after.conversions:
                self._conversions.put([astuple(record) for record in after.conversions.values()])
            else:
                self._conversions.clear()  # Spark does not store an empty list
        times = (after.seen_records, after.evaluated_at, after.last_record_at, after.erased_at, after.evicted_until_ts)
        self._user.update((*times, len(after.touches), len(after.conversions), next_ms))


def _update(rows: Iterable[Row], now: int) -> Update:
    touches, conversions = list[Touch](), list[Conversion]()
    erased_at = 0
    for row in rows:
        if row.touch is not None:
            # TwsTester passes a nested Row, but Spark passes a dict. Reading by field name works with both.
            touches.append(Touch(*(row.touch[name] for name in TOUCH.names)))
        elif row.conversion is not None:
            record = Conversion(*(row.conversion[name] for name in CONVERSION.names))
            conversions.append(replace(record, seen_at=now))
        else:
            erased_at = max(erased_at, row.stored_at)
    return Update(tuple(touches), tuple(conversions), erased_at)


def _row(credit: OrderCredit) -> Row:
    fields = credit.document()
    return Row(**{**fields, "credits": [Row(**share) for share in fields["credits"]]})
