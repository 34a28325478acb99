"""
Apply the rules to the source records of a run, all at once and without Spark: what the stream should have answered.

What arrives are the books of a run; what leaves are results, and orders with their answers where they are determined.
Real-time mode answers in any order, so that what it answers in the end may depend on the set of records only.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from examples.attribution.audit.run_log import Books, Row, SourceRecord, order_id, user_of
from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, Credited, credit
from examples.attribution.settings import Windows

FOR_EVER_MS = 10**14
"""When all time has passed, so that nothing is pending."""


@dataclass(frozen=True)
class Order:
    """The records of one order, and what the rule says of it."""

    records: int
    expected: Credited | None
    """None where erasure came after a record: the answer then depends on what was known at that moment."""
    is_after_erasure: bool = False


def replay(books: Books, windows: Windows) -> dict[str, Result]:
    """Return the results of the correlation rule after all windows, by id, with version 0."""
    transactions: defaultdict[tuple[str, int], list[Event]] = defaultdict(list)
    for src, record, fields in _accepted(books):
        if fields["kind"] != "conversion":
            event = _event(src, record, fields, windows)
            transactions[event.transaction_id, event.request_ts].append(event)
    results = (result for events in transactions.values() for result in correlate(events, windows, FOR_EVER_MS))
    return {result.result_id: replace(result, version=0) for result in results}


def orders(books: Books, windows: Windows, rules: CreditRules) -> dict[str, Order]:
    """Return every order by its result id; `rules` are those of the run, scaled."""
    found: defaultdict[tuple[str, str], list[Conversion]] = defaultdict(list)
    for src, record, fields in _accepted(books):
        if fields["kind"] == "conversion" and src in books.events:
            stored_at = books.events[src].appended_at
            found[user_of(fields), order_id(fields)].append(_conversion(src, record, fields, stored_at, windows))
    return {name: _order(books, user, records, rules) for (user, name), records in found.items()}


def _order(books: Books, user: str, records: list[Conversion], rules: CreditRules) -> Order:
    erased_at = max(books.erasures.get(user, [0]))
    if min(record.stored_at for record in records) <= erased_at:
        return Order(len(records), None)
    touches = books.touches.get(user, {}).values()
    kept = (touch for touch in touches if min(touch.effective_ts, touch.stored_at) > erased_at)
    answer = replace(credit(user, records, kept, rules), final=True)
    if not erased_at:
        return Order(len(records), answer)
    return Order(len(records), replace(answer, result_id=f"{answer.result_id}/{erased_at}"), is_after_erasure=True)


def _accepted(books: Books) -> Iterator[tuple[str, SourceRecord, Row]]:
    for src, record in books.sources.items():
        if src in books.rejects or record.value is None:
            continue
        try:
            fields = json.loads(record.value)
        except ValueError:
            continue  # neither rejected nor readable: reported as lost
        if isinstance(fields, dict):
            yield src, record, fields


def _effective_ts(fields: Row, windows: Windows) -> tuple[int, bool]:
    clock_skew = abs(fields["event_ts"] - fields["server_ts"]) > windows.clock_skew_limit_ms
    return fields["server_ts"] if clock_skew else fields["event_ts"], clock_skew


def _event(src: str, record: SourceRecord, fields: Row, windows: Windows) -> Event:
    effective_ts, clock_skew = _effective_ts(fields, windows)
    return Event(
        effective_ts=effective_ts,
        event_id=fields["event_id"],
        src=src,
        kind=fields["kind"],
        transaction_id=fields["transaction_id"],
        request_ts=fields["request_ts"],
        campaign_id=fields["campaign_id"],
        server_ts=fields["server_ts"],
        appended_at=record.appended_at,
        clock_skew=clock_skew,
        user_key=fields.get("user_key"),
        slots=tuple(fields.get("slots") or ()),
        slot_id=fields.get("slot_id"),
        impression_id=fields.get("impression_id"),
        creative_length_ms=fields.get("creative_length_ms"),
    )


def _conversion(src: str, record: SourceRecord, fields: Row, stored_at: int, windows: Windows) -> Conversion:
    return Conversion(
        src=src,
        advertiser_id=fields["advertiser_id"],
        order_id=fields["order_id"],
        effective_ts=_effective_ts(fields, windows)[0],
        event_id=fields["event_id"],
        value_micros=fields["value_micros"],
        appended_at=record.appended_at,
        stored_at=stored_at,
        seen_at=stored_at,
    )
