"""Check that state does not grow under a constant set of keys, and that it ends with the watermark."""

import json
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from examples.testing.records import Sent
from scripts.prove.subjects.samples import fields_of, is_time
from scripts.prove.subjects.subject import Subject
from scripts.prove.verdicts.place import STATEFUL_CALLS, line_of_call
from scripts.prove.verdicts.verdict import GOOD, UNCHECKED, WRONG, Verdict

PAGE = "references/state.md#watermark"
ROUNDS = 2
FORWARD_DAYS = (30, 60, 90)
DAY_SECONDS = 86_400
# Epoch times between 2001 and 2100, in seconds and in milliseconds.
SECONDS_RANGE = (10**9, 4 * 10**9)


def state(subject: Subject, query: StreamingQuery) -> Verdict:
    """Send the same records in several batches, then records with later times, and watch the number of state rows."""
    if not query.lastProgress or not query.lastProgress.stateOperators:
        return Verdict("state", GOOD, "the query keeps no state")
    rows = [_after(subject, query, subject.samples) for _ in range(ROUNDS + 1)]
    if all(later > earlier for earlier, later in pairwise(rows)):
        evidence = f"the same {len(subject.samples)} records let the state grow in each batch: {rows} rows"
        return _wrong(subject, evidence, "keep one row per key, or give the state a watermark or a TTL")
    if not query.lastProgress.eventTime:
        evidence = f"{rows[-1]} rows of state never end, because the query has no watermark: each new key stays forever"
        return _wrong(subject, evidence, "add withWatermark, and group by the event time or a window")
    moved = [[_moved(sample, days) for sample in subject.samples] for days in FORWARD_DAYS]
    if moved[0] == subject.samples:
        fix = f"pass records with a time in --samples {subject.stream}=FILE.jsonl"
        return Verdict("state", UNCHECKED, "no sample has a time, so the watermark did not advance", fix, PAGE)
    removed = sum(_after(subject, query, records, removed=True) for records in moved)
    if removed:
        evidence = f"constant under the same keys ({rows[-1]} rows); the watermark removed {removed} rows"
        return Verdict("state", GOOD, evidence, page=PAGE)
    evidence = f"{rows[-1]} rows of state never end: the event time advanced by 90 days and the watermark removed none"
    return _wrong(subject, evidence, "group by the event time or a window; deduplicate with the event time")


def _after(subject: Subject, query: StreamingQuery, records: list[Sent], *, removed: bool = False) -> int:
    """Return the number of state rows, or of removed state rows, after the commit of `records`."""
    subject.trial.send(records)
    subject.trial.wait_for_commit(query)
    subject.trial.received()
    operators = query.lastProgress.stateOperators if query.lastProgress else []
    return sum(operator.numRowsRemoved if removed else operator.numRowsTotal for operator in operators)


def _moved(sample: Sent, days: int) -> Sent:
    """Return a record with all its times moved forward."""
    fields = fields_of(sample)
    if not fields:
        return sample
    moved = {name: _later(name, value, days) for name, value in fields.items()}
    return sample if moved == fields else Sent(json.dumps(moved).encode(), sample.key, sample.headers)


def _later(name: str, value: Any, days: int) -> Any:
    if isinstance(value, dict):
        return {part: _later(part, inner, days) for part, inner in value.items()}
    if isinstance(value, str):
        try:
            return (datetime.fromisoformat(value) + timedelta(days=days)).isoformat()
        except ValueError:
            return value
    if isinstance(value, int) and not isinstance(value, bool):
        low, high = SECONDS_RANGE
        if low <= value <= high and is_time(name):
            return value + days * DAY_SECONDS
        if low * 1000 <= value <= high * 1000:
            return value + days * DAY_SECONDS * 1000
    return value


def _wrong(subject: Subject, evidence: str, fix: str) -> Verdict:
    line = line_of_call(subject.path, STATEFUL_CALLS, subject.line)
    return Verdict("state", WRONG, evidence, fix, PAGE, str(subject.path), line)
