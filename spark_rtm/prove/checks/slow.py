"""
Find expressions that take seconds for one long string, by filling each field of a good record with long strings.

The lengths grow in steps, and a control record of the same size shows whether the machine itself is slow. Spark cannot
interrupt an expression inside a record. The check abandons such a record, and does not try longer ones.
"""

import copy
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.types import StringType

from spark_rtm.prove.engine.bench import in_time
from spark_rtm.prove.records.decoding import Decoding
from spark_rtm.prove.records.hostile import columns_of
from spark_rtm.prove.records.samples import fields_of
from spark_rtm.prove.subject import Subject
from spark_rtm.prove.verdicts.verdict import Verdict
from spark_rtm.testing.records import Sent

PAGE = "references/errors_in_rows.md#expressions-that-cannot-fail"
LENGTHS = (1_000, 4_000, 16_000, 80_000, 1_000_000)
REPORTED_LENGTH = 80_000
TEXTS = ("a", " ", "1", "a.", "<", "a,", '{"a":')
# Expressions with quadratic time already take seconds at the second-longest length. The longest is for other causes.
LAST_TEXTS = TEXTS[:3]
# A pattern that matches all of the repeated text fails at this last character, and backtracks.
END = "!"
PLACE = "prove-long-value"
OVERFLOW = "StackOverflowError"
SLOW_SECONDS, SUSPICIOUS_SECONDS = 1.0, 0.3
RATIO, SUSPICIOUS_RATIO = 10.0, 3.0
TOGETHER_SECONDS, RECORD_SECONDS, TOTAL_SECONDS = 10.0, 20.0, 60.0
MAX_BYTES, MAX_SLOW = 8_000_000, 3


@dataclass(frozen=True)
class Case:
    """A string to repeat in a field of a good record."""

    field: str
    text: str
    record: Callable[[str], Sent]
    control: Callable[[str], Sent]
    """Makes a record of the same size whose text the query does not read."""
    end: str = END

    def long(self, length: int) -> str:
        """Return the string, repeated up to a length."""
        return self.text * (length // len(self.text)) + self.end

    def name(self, length: int) -> str:
        """Return the name of this kind of record."""
        return f"{self.field}: {length:,} characters ({self.text * 3}...)"


@dataclass(frozen=True)
class Slow:
    """A slow record, with its time and the time of a control record."""

    case: Case
    length: int
    seconds: float
    """Duration, infinite if the record took longer than `RECORD_SECONDS`."""
    control_seconds: float = 0.0
    overflows: bool = False


@dataclass
class Found:
    """The slow records, the failing ones, and the greatest tested length."""

    fields: int
    slow: list[Slow] = field(default_factory=list)
    ends: dict[str, Sent] = field(default_factory=dict)
    tried: int = 0
    """The greatest length tried in every field that is not slow."""

    @property
    def text(self) -> str:
        """The description of the tried strings."""
        return f"strings of up to {self.tried:,} characters tried in {self.fields} places"


Clock = Callable[[Sequence[Sent], float], float]
"""Returns the seconds that the query takes for some records, or infinity after a limit."""


def long_values(subject: Subject, sample: Sent, decoding: Decoding) -> Found:
    """Return the fields in which a long string is slow or makes the query fail."""
    end = time.monotonic() + TOTAL_SECONDS

    def clock(records: Sequence[Sent], limit: float) -> float:
        if time.monotonic() > end:
            raise TimeoutError
        rows, started = subject.rows_of(list(records)), time.monotonic()
        try:
            in_time(rows, rows.write.format("noop").mode("overwrite").save, limit)
        except TimeoutError:
            return math.inf
        return time.monotonic() - started

    return search(list(cases_of(sample, decoding)), clock)


def search(cases: Sequence[Case], clock: Clock) -> Found:
    """Try each case in growing lengths until it is slow, or until `clock` raises TimeoutError."""
    found = Found(len({case.field for case in cases}))
    try:
        for length in LENGTHS:
            cases = [case for case in cases if length < LENGTHS[-1] or case.text in LAST_TEXTS]
            size = max(1, MAX_BYTES // length)
            for start in range(0, len(cases), size):
                if len(found.slow) >= MAX_SLOW:
                    return found
                _together(clock, cases[start : start + size], length, found)
            slow = {one.case.field for one in found.slow}
            cases = [case for case in cases if case.field not in slow and case.name(length) not in found.ends]
            found.tried = length
    except TimeoutError:
        pass
    return found


def verdict_on(subject: Subject, slow: Slow, decoding: Decoding) -> Verdict:
    """Return the verdict on a slow record, with the expression if the plan contains it."""
    column = slow.case.field.removeprefix("the ").rpartition(".")[2]
    known = [one for one in decoding.patterns if column in one[2]]
    if not known and column not in {"key", "value"}:  # The query has renamed the field.
        known = list(decoding.patterns)
    name, pattern, _ = known[0] if len({one[:2] for one in known}) == 1 else ("", "", None)
    long = f"one record with {slow.length:,} characters ({slow.case.text * 3}...) in {slow.case.field}"
    where = f" in {name}({column}, {pattern!r})" if name else ""
    took = f"{slow.seconds:.1f} s" if slow.seconds < math.inf else f"more than {RECORD_SECONDS:g} s without finishing"
    evidence = (
        f"{OVERFLOW}: {long} overflows the stack{where} and ends the executor, again after each restart"
        if slow.overflows
        else f"{long} takes {took}{where}, a control record takes {slow.control_seconds:.2f} s; the partition "
        "waits meanwhile, again after each restart"
    )
    fix = "limit the length before the expression, for example with left(text, 1000), or replace the pattern"
    return subject.wrong("input", evidence, fix, PAGE, rf"\b{name}\s*\(" if name else "")


def cases_of(sample: Sent, decoding: Decoding) -> Iterator[Case]:
    """Yield the cases for each field, the key and the whole value."""

    def control(_: str) -> Sent:
        return sample

    columns, fields = columns_of(sample, decoding), fields_of(sample) or {}
    for name in columns:
        line = decoding.line({**columns, name: PLACE})
        for text in (text for text in TEXTS if decoding.separator not in text):
            yield Case(name, text, partial(_filled, sample, line.split(PLACE), str), control)
    if fields:
        others = (f.name for f in decoding.schema if isinstance(f.dataType, StringType) and "corrupt" not in f.name)
        fields = {**dict.fromkeys(others, "a1"), **fields}
        unread = json.dumps({**fields, "unread by the query": PLACE}).split(json.dumps(PLACE))
        for name, leaf, changed in _changed(fields):
            is_text = isinstance(leaf, str)
            put = partial(_filled, sample, json.dumps(changed).split(json.dumps(PLACE)), json.dumps if is_text else str)
            for text in TEXTS if is_text else ("1",):
                yield Case(name, text, put, partial(_filled, sample, unread, json.dumps), END if is_text else "")
    for text in TEXTS:
        yield Case("the key", text, lambda long: replace(sample, key=long.encode()), control)
        yield Case("the value", text, lambda long: replace(sample, value=long.encode()), control)


def _filled(sample: Sent, parts: Sequence[str], encode: Callable[[str], str], long: str) -> Sent:
    return replace(sample, value=encode(long).join(parts).encode())


def _changed(value: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the path of each string and number, the value, and the object in which `PLACE` replaces the value."""
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            for path, leaf, changed in _changed(inner, f"{name}.{step}" if name else str(step)):
                whole = copy.copy(value)
                whole[step] = changed
                yield path, leaf, whole
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield name, value, PLACE


def _together(clock: Clock, cases: Sequence[Case], length: int, found: Found) -> None:
    """Try cases together. If they are slow or fail, try the cases of each field, and then single cases."""
    by_field = {case.field: [other for other in cases if other.field == case.field] for case in cases}
    if _is_fast(clock, cases, length):
        return
    for those in by_field.values():
        if len(found.slow) < MAX_SLOW and (len(by_field) == 1 or not _is_fast(clock, those, length)):
            _one_by_one(clock, those, length, found)


def _is_fast(clock: Clock, cases: Sequence[Case], length: int) -> bool:
    try:
        seconds = min(TOGETHER_SECONDS, clock([case.record(case.long(length)) for case in cases], TOGETHER_SECONDS))
        if seconds < SLOW_SECONDS:
            return True
        return not _is_suspicious(seconds, clock([case.control(case.long(length)) for case in cases], TOGETHER_SECONDS))
    except (PySparkException, Py4JError):
        return False


def _is_suspicious(seconds: float, control: float) -> bool:
    return seconds > SUSPICIOUS_RATIO * control and seconds - control > SUSPICIOUS_SECONDS


def _one_by_one(clock: Clock, cases: Sequence[Case], length: int, found: Found) -> None:
    control = clock([cases[0].control(cases[0].long(length))], RECORD_SECONDS)
    for case in cases:
        try:
            seconds = clock([case.record(case.long(length))], RECORD_SECONDS)
            slow = _measured(clock, case, length, seconds) if _is_suspicious(seconds, control) else None
        except (PySparkException, Py4JError) as error:
            if OVERFLOW not in str(error):
                found.ends[case.name(length)] = case.record(case.long(length))
                continue
            slow = Slow(case, length, 0.0, overflows=True)
        if slow:
            found.slow.append(slow)
            return


def _measured(clock: Clock, case: Case, length: int, seconds: float) -> Slow | None:
    """Measure a suspicious record again with a length of at least `REPORTED_LENGTH`, and return it if it is slow."""

    def seconds_of(make: Callable[[str], Sent], at: int) -> float:
        return clock([make(case.long(at))], RECORD_SECONDS)

    if length < REPORTED_LENGTH and seconds < math.inf:
        length, seconds = REPORTED_LENGTH, seconds_of(case.record, REPORTED_LENGTH)
    control = min(seconds_of(case.control, length), seconds_of(case.control, length))
    if SLOW_SECONDS <= seconds < RECORD_SECONDS / 4:
        seconds = min(seconds, seconds_of(case.record, length))
    return Slow(case, length, seconds, control) if seconds >= max(SLOW_SECONDS, RATIO * control) else None
