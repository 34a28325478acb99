"""Pairs of a column and a Python value, and a processor that writes each pair to its result and to its state."""

import os
import re
import time
from array import array
from collections import Counter, OrderedDict, deque, namedtuple
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from spark_rtm.realtime.python_state.values import writer

One = IntEnum("One", ["A"])
Pair = namedtuple("Pair", "a b")
GARBAGE = re.compile(r"\[B@|java\.util|Timedelta: |\ufffd|xef.xbf.xbd|'\[")
"""What Spark stores for bytes, times, halves of surrogate pairs and lists in a column of strings."""
MOMENT = datetime(2020, 1, 2, 3, 4, 5, 678901)  # noqa: DTZ001 - most processors use such times
WHOLE = (T.ByteType(), T.ShortType(), T.IntegerType(), T.LongType())
TYPES = (
    *WHOLE,
    *(T.BooleanType(), T.FloatType(), T.DoubleType(), T.DecimalType(5, 2), T.DecimalType(38, 0), T.StringType()),
    *(T.BinaryType(), T.DateType(), T.TimestampType(), T.TimestampNTZType(), T.DayTimeIntervalType()),
)
VALUES = (
    *(None, True, 0, -128, -129, 127, 128, 2**15, 2**24, 2**24 + 1, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 10**38),
    *(1.0, 1.5, -128.9, 1e300, float("nan"), float("inf"), Decimal(1), Decimal("1.255"), Decimal("1.250")),
    *(Decimal("999.99"), Decimal("NaN"), "a", "é", "1", "\ud800", b"a", b"\xff", bytearray(b"b"), One.A),
    *(date(2020, 1, 2), MOMENT, MOMENT.replace(tzinfo=UTC), datetime(2020, 1, 2, tzinfo=timezone(timedelta(hours=2)))),
    *(timedelta(days=1, microseconds=5), pd.Timestamp(MOMENT), pd.Timedelta("1s"), np.bool_(True)),
    *(np.int8(3), np.int64(2**40), np.uint8(200), np.uint64(2**63), np.float32(0.1), np.float64(3.0), np.str_("n")),
    *(np.bytes_(b"n"), np.datetime64(MOMENT), np.datetime64("2020-01-02"), np.datetime64(MOMENT, "ns")),
    *(np.timedelta64(5, "us"), np.timedelta64(1, "D"), memoryview(b"c")),
    *(Fraction(1, 2), np.array([1]), b"1", bytearray(b"1")),
)
ITEMS: tuple[Any, ...] = (
    *([], [1], (1,), [None], [np.int64(1)], (np.int64(1), 2), {1}, frozenset([1]), range(2), deque([1]), {1: 2}),
    *({1: 2}.values(), "ab", b"ab", array("i", [1]), np.array([1]), np.array([1.5]), np.array([[1]]), np.array(1)),
    *(np.array([True]), np.array(["a"]), np.array([1, None], dtype=object), pd.Series([1]), 1, Pair(1, 2), [[1]]),
)
TIMES = (np.array([MOMENT], dtype="datetime64[us]"), np.array([5], dtype="timedelta64[us]"), [MOMENT, None], [MOMENT])
MAPS: tuple[Any, ...] = (
    *({}, {"a": 1}, {"a": None}, {None: 1}, {1: 1}, {b"a": 1}, {"a": 1.0}, {"a": "x"}, {np.str_("a"): np.int64(1)}),
    *([("a", 1)], (("a", 1),), [["a", 1]], OrderedDict(a=1), Counter(a=1), Row(a=1), "ab", 1),
)
STRUCTS: tuple[Any, ...] = (
    *({"a": 1, "b": "x"}, {"a": 1}, {"b": "x", "c": 1}, {}, Row(a=1, b="x"), Row(b="x", a=1), (1, "x"), [1, "x"]),
    *(Pair(1, "x"), (1,), (1, "x", 2), (), {"a": "x"}, {"a": np.int64(1)}, (np.int64(1), np.str_("x")), "ab", 1),
    SimpleNamespace(a=1, b="x"),
)
STRUCT = T.StructType().add("a", "long").add("b", "string")
CONTAINERS = (
    *((T.ArrayType(element), ITEMS) for element in (T.LongType(), T.DoubleType(), T.StringType(), T.BooleanType())),
    *((T.ArrayType(element), TIMES) for element in (T.TimestampType(), T.DayTimeIntervalType(), T.DateType())),
    (T.ArrayType(T.ArrayType(T.LongType())), ([[1]], [np.array([1])], np.array([[1]]))),
    (T.MapType(T.StringType(), T.LongType()), MAPS),
    (T.MapType(T.LongType(), T.StringType()), ({1: "a"}, {True: "a"}, {1.0: "a"}, {"1": "a"}, {np.int64(1): "a"})),
    (STRUCT, STRUCTS),
)
PAIRS = [
    *((number, value) for number, _ in enumerate(TYPES) for value in VALUES),
    *((len(TYPES) + number, value) for number, (_, values) in enumerate(CONTAINERS) for value in values),
]
COLUMNS = T.StructType()
for _number, _type in enumerate([*TYPES, *(container for container, _ in CONTAINERS)]):
    COLUMNS.add(f"plain{_number}", _type)
    COLUMNS.add(f"deep{_number}", T.ArrayType(T.MapType(T.StringType(), T.StructType().add("a", _type))))
# Spark refuses state with intervals and with maps whose keys are not strings.
STATE = T.StructType(
    [field for field in COLUMNS if not re.search("interval|map<bigint", field.dataType.simpleString())]
)
RESULTS = T.StructType([*T.StructType().add("pair", "string").add("text", "string"), *COLUMNS])


@cache
def _arrow_schema() -> pa.Schema:
    return pa.schema(list(to_arrow_type(RESULTS, timezone="UTC")))


def by_micro_batch_mode(row: Row) -> None:
    """Convert a result as `pyspark.worker` does. An error ends the query."""
    pa.RecordBatch.from_pylist([row.asDict(True)], schema=_arrow_schema())


def by_real_time_mode(row: Row) -> None:
    """Convert a result as `python_state.worker` does. An error ends the query."""
    _written(row)


_written = writer(RESULTS, "result", is_state=False)


def is_lost(data_type: T.DataType, value: Any, stored: str) -> bool:
    """Return whether Spark stores something else than the value. Real-time mode refuses such a value."""
    fields = [value.get(name) for name in STRUCT.names] if data_type == STRUCT and isinstance(value, dict) else value
    has_new_null = stored.count("None") > repr(fields).count("None")
    plain = value.item() if isinstance(value, np.generic) else value
    is_wrapped = data_type in WHOLE and isinstance(plain, int) and stored != repr(plain)
    is_decimal = isinstance(value, Decimal) and stored == "nan"
    return has_new_null or is_wrapped or is_decimal or bool(GARBAGE.search(stored))


def written(pair: str) -> tuple[str, Any]:
    """Return the column and the value of a pair."""
    shape, number = pair.split(" ")
    column, value = PAIRS[int(number)]
    return f"{shape}{column}", [{"k": Row(a=value)}] if shape == "deep" else value


def state_of(pair: str) -> tuple[Any, ...]:
    name, value = written(pair)
    return tuple(value if one == name else None for one in STATE.names)


class Writing(StatefulProcessor):
    """Writes the pair of its key: the step 0 to the result and the state, and the step 1 the state to the result."""

    def __init__(self, accept: Callable[[Row], None], without_state: frozenset[str]) -> None:
        self._accept, self._without_state = accept, without_state

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("state", STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: ARG002, N802, N803
        os.environ["TZ"] = "Asia/Kolkata"
        time.tzset()
        name, value = written(key[0])
        for row in sorted(rows, key=lambda row: row.step):
            if row.step == 0:
                # If the state refuses the value, the next step reports it.
                with suppress(Exception):
                    self._state.update(state_of(key[0])) if key[0] not in self._without_state else None
                yield self._result(key[0], Row(**{"pair": f"result {key[0]}", name: value}))
            elif row.step == 1 and name in STATE.names:
                state = self._state.get()
                stored = state and state[STATE.names.index(name)]
                inner = stored[0]["k"].a if stored and key[0].startswith("deep") else stored
                yield Row(pair=f"state {key[0]}", text=repr(inner) if state else "refused")
            elif row.step == 2:
                yield Row(**{"pair": "unchecked", name: value})

    def _result(self, pair: str, row: Row) -> Row:
        try:
            self._accept(row)
        except Exception:  # noqa: BLE001 - PyArrow raises several types
            return Row(pair=f"result {pair}", text="refused")
        return row

    def close(self) -> None:
        os.environ["TZ"] = "UTC"
        time.tzset()
