"""
Find expressions that need seconds for a single long string, by filling each field of a good record with long strings.

Spark cannot interrupt an expression inside a record, so the strings become longer step by step until a field is slow.
"""

import copy
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.types import StringType

from spark_rtm.prove.engine import in_time
from spark_rtm.prove.query import Query
from spark_rtm.prove.records.decoding import Decoding
from spark_rtm.prove.records.hostile import columns_of
from spark_rtm.prove.records.samples import fields_of
from spark_rtm.prove.verdicts import Verdict
from spark_rtm.testing.records import Sent

PAGE = "references/errors_in_rows.md#expressions-that-cannot-fail"
# Cubic time already takes seconds at 8,000 characters, quadratic time at 80,000.
LENGTHS = (1_000, 8_000, 80_000)
TEXTS = ("a", " ", "1", "a.", "<")
# A pattern that matches the repeated text fails at this last character and backtracks.
END = "!"
PLACE = "prove-long-value"
OVERFLOW = "StackOverflowError"
SLOW_SECONDS, RATIO = 1.0, 10.0
RECORD_SECONDS, TOTAL_SECONDS = 20.0, 60.0
MAX_SLOW = 3

Fill = Callable[[str], Sent]
"""Function that returns a record with the given string in one of its fields."""
Clock = Callable[[Sequence[Sent]], float]
"""Function that returns the query's processing time for records in seconds, or infinity after `RECORD_SECONDS`."""


@dataclass(frozen=True)
class Slow:
    """A slow field, with the repeated string and its length, and the seconds for this record and for a good record."""

    field: str
    text: str
    length: int
    seconds: float
    good_seconds: float
    overflows: bool = False


def slow_fields(query: Query, sample: Sent, fields: Mapping[str, Fill]) -> tuple[list[Slow], int]:
    """Return the fields in which a long string is slow or overflows the stack, and the length tried elsewhere."""
    end = time.monotonic() + TOTAL_SECONDS

    def clock(records: Sequence[Sent]) -> float:
        if time.monotonic() > end:
            raise TimeoutError
        rows, started = query.rows_of(list(records)), time.monotonic()
        try:
            in_time(rows, rows.write.format("noop").mode("overwrite").save, RECORD_SECONDS)
        except TimeoutError:
            return math.inf
        return time.monotonic() - started

    return search(fields, sample, clock)


def search(fields: Mapping[str, Fill], sample: Sent, clock: Clock) -> tuple[list[Slow], int]:
    """Fill each field with increasingly long strings until the field is slow or `clock` raises TimeoutError."""
    found, tried = list[Slow](), 0
    with suppress(TimeoutError):
        for length in LENGTHS:
            remaining = {name: fill for name, fill in fields.items() if name not in {slow.field for slow in found}}
            if _is_slow(clock, list(remaining.values()), length):
                for name, fill in remaining.items():
                    if len(found) < MAX_SLOW and _is_slow(clock, [fill], length):
                        slow = (_measured(clock, sample, name, fill, text, length) for text in TEXTS)
                        found += islice(filter(None, slow), 1)
            tried = length
    return found, tried


def _long(text: str, length: int) -> str:
    return text * (length // len(text)) + END


def _is_slow(clock: Clock, fills: Sequence[Fill], length: int) -> bool:
    try:
        return clock([fill(_long(text, length)) for fill in fills for text in TEXTS]) >= SLOW_SECONDS
    except (PySparkException, Py4JError):
        return True


def _measured(clock: Clock, sample: Sent, name: str, fill: Fill, text: str, length: int) -> Slow | None:
    """Return a slow field if two comparisons with a good record agree. A busy machine rarely delays a record twice."""
    records = [fill(_long(text, length))]
    try:
        if (seconds := clock(records)) < SLOW_SECONDS:
            return None
        good = clock([sample])
        if seconds < math.inf:
            seconds, good = min(seconds, clock(records)), max(good, clock([sample]))
    except (PySparkException, Py4JError) as error:
        return Slow(name, text, length, 0.0, 0.0, overflows=True) if OVERFLOW in str(error) else None
    return Slow(name, text, length, seconds, good) if seconds >= max(SLOW_SECONDS, RATIO * good) else None


def verdict_on(query: Query, slow: Slow, decoding: Decoding) -> Verdict:
    """Return the verdict on a slow field, with the slow expression if the plan contains it."""
    column = slow.field.removeprefix("the ").rpartition(".")[2]
    known = [one for one in decoding.patterns if column in one[2]]
    if not known and column not in {"key", "value"}:  # The query has renamed the field.
        known = list(decoding.patterns)
    name, pattern, _ = known[0] if len({one[:2] for one in known}) == 1 else ("", "", None)
    long = f"one record with {slow.length:,} characters ({slow.text * 3}...) in {slow.field}"
    where = f" in {name}({column}, {pattern!r})" if name else ""
    took = f"{slow.seconds:.1f} s" if slow.seconds < math.inf else f"more than {RECORD_SECONDS:g} s without finishing"
    evidence = (
        f"{OVERFLOW}: {long} overflows the stack{where} and ends the executor, also after each restart"
        if slow.overflows
        else f"{long} takes {took}{where}, and a good record takes {slow.good_seconds:.2f} s; the partition is blocked "
        "meanwhile, also after each restart"
    )
    fix = "limit the length before the expression, for example with left(text, 1000), or replace the pattern"
    return query.place.wrong("input", evidence, fix, PAGE, rf"\b{name}\s*\(" if name else "")


def fields_to_fill(sample: Sent, decoding: Decoding) -> dict[str, Fill]:
    """Return a `Fill` function for each text field, the key and the whole value."""
    columns, fields = columns_of(sample, decoding), fields_of(sample) or {}
    fills = {
        name: partial(_filled, sample, decoding.line({**columns, name: PLACE}).split(PLACE), str) for name in columns
    }
    if fields:
        texts = (f.name for f in decoding.schema if isinstance(f.dataType, StringType) and "corrupt" not in f.name)
        for name, changed in _changed({**dict.fromkeys(texts, "a1"), **fields}):
            fills[name] = partial(_filled, sample, json.dumps(changed).split(json.dumps(PLACE)), json.dumps)
    whole: dict[str, Fill] = {
        "the key": lambda long: replace(sample, key=long.encode()),
        "the value": lambda long: replace(sample, value=long.encode()),
    }
    return fills | whole


def _filled(sample: Sent, parts: Sequence[str], encode: Callable[[str], str], long: str) -> Sent:
    return replace(sample, value=encode(long).join(parts).encode())


def _changed(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each string's path, and the object with `PLACE` in place of the string."""
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            for path, changed in _changed(inner, f"{name}.{step}" if name else str(step)):
                whole = copy.copy(value)
                whole[step] = changed
                yield path, whole
    elif isinstance(value, str):
        yield name, PLACE
