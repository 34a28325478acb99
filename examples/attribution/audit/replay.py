"""
Replay a run without Spark: apply the rules to all source records, and compute the expected results.

The pipeline does not guarantee the order of records, so final results must depend only on the set of records.
"""

import dataclasses
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from examples.attribution.audit.run_log import Row, RunLog, SourceRecord, credit_key, order_result_id
from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.correlation.windows import Windows
from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, OrderCredit, assign_credit

INPUT_FIELDS = {field.name for field in dataclasses.fields(Event)} - {
    "effective_ts",
    "clock_skew",
    "src",
    "appended_at",
}
AFTER_ALL_WINDOWS_MS = 10**14
"""A time after the end of all windows. At this time, the replay has no pending results."""


def replay_results(log: RunLog, windows: Windows) -> dict[str, Result]:
    """
    Return the final correlation results, keyed by result id. All results have version 0.

    The order of records in `events` decides which records exceed the maximum number of events per transaction.
    """
    transactions: defaultdict[tuple[str, int], list[Event]] = defaultdict(list)
    for src, record, fields in _accepted(log):
        if fields["kind"] != "conversion":
            event = _event(src, record, fields, windows)
            transactions[event.transaction_id, event.request_ts].append(event)
    # All events of a transaction are in one partition of `events`, which the log contains in order.
    order = {src: position for position, src in enumerate(log.events)}
    return {
        result.result_id: replace(result, version=0)
        for events in transactions.values()
        for result in correlate(
            sorted(events, key=lambda event: order.get(event.src, len(order))), windows, AFTER_ALL_WINDOWS_MS
        )
    }


def replay_orders(
    log: RunLog, windows: Windows, rules: CreditRules
) -> dict[str, tuple[list[Conversion], OrderCredit | None]]:
    """
    Return the conversions and the credit of all orders, keyed by result id. `rules` must contain scaled times.

    The credit of an erased user is None, because it depends on which records the query read before the erasure.
    """
    by_order: defaultdict[tuple[str, str], list[Conversion]] = defaultdict(list)
    for src, record, fields in _accepted(log):
        if fields["kind"] == "conversion" and src in log.events:
            conversion = _conversion(src, record, fields, log.events[src].appended_at, windows)
            by_order[credit_key(fields), order_result_id(fields)].append(conversion)
    orders: dict[str, tuple[list[Conversion], OrderCredit | None]] = {}
    for (user, result_id), records in by_order.items():
        touches = log.touches.get(user, {}).values()
        credit = replace(assign_credit(user, records, touches, rules), final=True)
        orders[result_id] = records, None if user in log.erased else credit
    return orders


def _accepted(log: RunLog) -> Iterator[tuple[str, SourceRecord, Row]]:
    for src, record in log.sources.items():
        if src in log.rejects or record.value is None:
            continue
        try:
            fields = json.loads(record.value)
        except ValueError:
            continue  # the reconciliation reports a record that is neither rejected nor readable
        if isinstance(fields, dict):
            yield src, record, fields


def _effective_ts(fields: Row, windows: Windows) -> tuple[int, bool]:
    clock_skew = abs(fields["event_ts"] - fields["server_ts"]) > windows.clock_skew_limit_ms
    return fields["server_ts"] if clock_skew else fields["event_ts"], clock_skew


def _event(src: str, record: SourceRecord, fields: Row, windows: Windows) -> Event:
    effective_ts, clock_skew = _effective_ts(fields, windows)
    known = {name: fields.get(name) for name in INPUT_FIELDS} | {"slots": tuple(fields.get("slots") or ())}
    return Event(**known, effective_ts=effective_ts, clock_skew=clock_skew, src=src, appended_at=record.appended_at)


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
