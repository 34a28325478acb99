"""
Define a user's state, from which each order's credit and the time of the next timer are computed.

`update.py` applies new records to the state.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, OrderCredit, Touch, assign_credit, last_store_ms

TouchId = tuple[str, int]
"""Result id and version."""
OrderKey = tuple[str, str]
"""Advertiser id and order id."""


@dataclass(frozen=True)
class UserHistory:
    """The state of one user. Times are UTC milliseconds, and 0 means never."""

    touches: Mapping[TouchId, Touch] = field(default_factory=dict)
    conversions: Mapping[str, Conversion] = field(default_factory=dict)
    """Conversion records by `src`. Records from before an erasure contain only their position and append time."""
    seen_records: int = 0
    """Number of records applied so far, including evicted records. Credit versions increase with this number."""
    evaluated_at: int = 0
    """Processing time of the last evaluation."""
    last_record_at: int = 0
    """Processing time at which the last record arrived."""
    erased_at: int = 0
    """Append time of the last erasure request. Touches that occurred or were stored up to this time are ignored."""
    evicted_until_ts: int = 0
    """Event time of the newest touch that was evicted because the state was full."""


def order_credits(history: UserHistory, user: str, rules: CreditRules) -> dict[OrderKey, OrderCredit]:
    """Return each order's credit as of the last evaluation. Final credit has an odd version number."""
    by_order = {}
    for order, records in conversions_by_order(history).items():
        credit = assign_credit(user, records, history.touches.values(), rules)
        window_start_ts = credit.effective_ts - rules.max_window_ms
        is_truncated = credit.path_truncated or window_start_ts <= history.evicted_until_ts <= credit.effective_ts
        # After an erasure, the state does not show whether the order had credit before the erasure. A separate result
        # id prevents the new credit from replacing the earlier credit.
        result_id = f"{credit.result_id}/{history.erased_at}" if history.erased_at else credit.result_id
        version = 2 * history.seen_records
        credit = replace(credit, result_id=result_id, version=version, path_truncated=is_truncated)
        by_order[order] = finalized(credit) if history.evaluated_at >= _final_at(records, rules) else credit
    return by_order


def conversions_by_order(history: UserHistory) -> dict[OrderKey, list[Conversion]]:
    """Return the conversion records of each order. Records from before an erasure are omitted."""
    records: defaultdict[OrderKey, list[Conversion]] = defaultdict(list)
    for record in history.conversions.values():
        if record.order_id:
            records[record.advertiser_id, record.order_id].append(record)
    return records


def next_timer_at(history: UserHistory, rules: CreditRules) -> int:
    """Return the next time at which, if no record arrives, credit becomes final or the state expires."""
    final_times = (_final_at(records, rules) for records in conversions_by_order(history).values())
    return min((at for at in final_times if at > history.evaluated_at), default=expires_at(history, rules))


def expires_at(history: UserHistory, rules: CreditRules) -> int:
    """Return the time at which the state of an inactive user expires."""
    return history.last_record_at + rules.retention_ms + rules.settle_ms


def finalized(credit: OrderCredit) -> OrderCredit:
    """Return a copy of the credit that is final and has an odd version number."""
    return replace(credit, final=True, version=credit.version | 1)


def _final_at(records: list[Conversion], rules: CreditRules) -> int:
    # While the query reads a backlog, an old order's deadline has already passed when its first record is read. The
    # remaining records arrive shortly after the first one, so the settle time starts no earlier than the first read.
    first_seen_at = min(record.seen_at for record in records)
    return max(last_store_ms(records, rules), first_seen_at) + rules.settle_ms
