"""Check that state does not grow for a fixed set of keys, and that the watermark removes state."""

import time
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise

from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.prove.checks.input import are_rejected
from spark_rtm.prove.query import Query, evaluated, failing, results_of
from spark_rtm.prove.records.samples import moved
from spark_rtm.prove.verdicts import GOOD, UNCHECKED, Place, Verdict
from spark_rtm.testing.records import Sent

PAGE = "references/state.md#watermark"
PROCESSORS = "references/state.md#custom-processors"
PROCESSOR = "transformWithState"
STATEFUL_CALLS = r"\.(?:groupBy|groupby|dropDuplicates\w*|distinct|transformWithState\w*)\(|\btransform_with_state\("
KINDS = ("Value", "List", "Map")
WRITTEN_BYTES = "rocksdbTotalBytesWritten"
ROUNDS = 2
FORWARD_DAYS = (30, 60, 90)
DAY_SECONDS = 86_400


def state(query: Query, running: StreamingQuery) -> Verdict:
    """Return the verdict on the query's state, which needs records that do not make the query fail."""
    if not query.is_stateful:
        return Verdict("state", GOOD, "the query keeps no state")
    if text := failing(query):
        return query.place.unchecked("state", f"the record {text} makes the query fail", PAGE)
    return _growth(query, running)


def _growth(query: Query, running: StreamingQuery) -> Verdict:
    """Send the same records in several batches, then records with later times, and count the state rows."""
    query.trial.use_producer_times()
    records, is_accepted = _records(query)
    query = replace(query, samples=replace(query.samples, records=records))
    sizes = [_after(query, running, records) for _ in range(ROUNDS + 1)]
    rows, written = [size.rows for size in sizes], [size.written for size in sizes]
    if _grows(rows):
        evidence = f"the same {len(records)} records make the state grow in each batch: {rows} rows"
        if is_accepted:
            return _wrong(query.place, evidence, "keep one row per key, or give the state a watermark or a TTL")
        evidence += "; the query rejects the generated records, so each record may form its own group"
        return query.place.unchecked("state", evidence, PAGE, "records that it accepts")
    growth = (
        f"each row grows with each record: the same records write {written} bytes of state" if _grows(written) else ""
    )
    if metrics := _of_processor(running):
        return by_own_rules(query.place, rows[-1], metrics)
    if _watermark(running):
        return _after_later_times(query, running, rows[-1], growth)
    evidence = f"{rows[-1]} rows of state never expire, because the query has no watermark: it keeps each new key"
    fix = "add withWatermark, and group by the event time or a window"
    if growth:
        evidence, fix = f"{evidence}, and {growth}", f"{fix}; replace collect_list with an aggregate of fixed size"
    return _wrong(query.place, evidence, fix)


def _records(query: Query) -> tuple[list[Sent], bool]:
    """Return the records for the `state` check, and whether the query accepts them, with or without a result."""
    own = query.samples
    if not own.is_made or own.is_accepted or not are_rejected(results_of(query, own.records)):
        return own.records, True
    silent = [record for record, found in evaluated(query, own.others) if found == []]
    return (silent, True) if silent else (own.records, False)


def _after_later_times(query: Query, running: StreamingQuery, rows: int, growth: str) -> Verdict:
    before = _watermark(running)
    removed = sum(_after(query, running, query.samples.records, days).removed for days in FORWARD_DAYS)
    if removed:
        evidence = f"{rows} rows of state for the same keys; the watermark removed {removed} rows"
        return Verdict("state", GOOD, f"{evidence}; until then, {growth}" if growth else evidence, page=PAGE)
    if _watermark(running) == before:
        evidence = "the watermark did not advance, so no sample has an event time"
        return query.place.unchecked("state", evidence, PAGE, "records that have an event time")
    evidence = (
        f"{rows} rows of state never expire: the event time advanced by 90 days and the watermark did not remove them"
    )
    return _wrong(query.place, evidence, "group by the event time or a window; deduplicate with the event time")


def _of_processor(running: StreamingQuery) -> Counter[str]:
    found = Counter[str]()
    for progress in running.recentProgress:
        for operator in progress.stateOperators:
            if operator.operatorName.startswith(PROCESSOR):
                found.update({name: int(value) for name, value in operator.customMetrics.items()})
    return found


def by_own_rules(place: Place, rows: int, metrics: Counter[str]) -> Verdict:
    """Return the verdict on a stateful processor, whose state expires by TTL or is cleared by its code."""
    endless, ending = (sum(metrics[f"num{kind}State{ttl}Vars"] for kind in KINDS) for ttl in ("", "WithTTL"))
    if ending and not endless:
        evidence = f"{rows} rows of state for the same keys; each state variable has a TTL"
        return Verdict("state", GOOD, evidence, page=PROCESSORS)
    fix = "give each state variable a TTL, or clear the variable in handleExpiredTimer"
    if metrics["numRegisteredTimers"]:
        evidence = "the processor sets timers, and this check does not wait until they clear the state"
        return Verdict("state", UNCHECKED, evidence, "test that handleExpiredTimer clears the state", PROCESSORS)
    evidence = f"{rows} rows of state never expire, because a state variable has no TTL and no timer is set"
    return _wrong(place, evidence, fix, PROCESSORS)


@dataclass(frozen=True)
class _Size:
    rows: int
    removed: int
    written: int


def _after(query: Query, running: StreamingQuery, records: list[Sent], days: int = 0) -> _Size:
    last = running.lastProgress.batchId if running.lastProgress else -1
    time_ms = round(time.time() * 1000) + days * DAY_SECONDS * 1000 if days else 0
    query.trial.send([moved(record, days * DAY_SECONDS) for record in records] if days else records, time_ms=time_ms)
    query.trial.wait_for_commit(running)
    query.trial.received()
    batches = [progress.stateOperators for progress in running.recentProgress if progress.batchId > last]
    operators = [operator for batch in batches for operator in batch]
    return _Size(
        sum(operator.numRowsTotal for operator in batches[-1]),
        sum(operator.numRowsRemoved for operator in operators),
        sum(int(operator.customMetrics.get(WRITTEN_BYTES, 0)) for operator in operators),
    )


def _grows(numbers: list[int]) -> bool:
    return all(later > earlier for earlier, later in pairwise(numbers))


def _watermark(running: StreamingQuery) -> str:
    return str(running.lastProgress.eventTime.get("watermark", "")) if running.lastProgress else ""


def _wrong(place: Place, evidence: str, fix: str, page: str = PAGE) -> Verdict:
    return place.wrong("state", evidence, fix, page, STATEFUL_CALLS)
