"""
Apply new records to a user's state, and compute each order's credit and the time of the next timer from the state.

This module contains the complete logic of the credit query, without Spark. Append times of newer records decide which
records are evicted, so a replay evicts the same records as the run. Processing time decides when credit becomes final
and when the state of an inactive user expires.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, OrderCredit, Touch, assign_credit, last_store_ms

TouchId = tuple[str, int]
"""Result id and version."""
OrderKey = tuple[str, str]
"""Advertiser id and order id."""
K = TypeVar("K")
R = TypeVar("R", Touch, Conversion)


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


@dataclass(frozen=True)
class Update:
    """New records of one user, in any order."""

    touches: tuple[Touch, ...] = ()
    conversions: tuple[Conversion, ...] = ()
    erased_at: int = 0


def advance(
    history: UserHistory, user: str, update: Update, rules: CreditRules, now: int
) -> tuple[UserHistory | None, list[OrderCredit]]:
    """
    Return the new state, or None if the state has expired, and all credit that has changed.

    Even without new records, credit can become final at `now`, and the state can expire.
    """
    closed: list[OrderCredit] = []
    if update.erased_at > history.erased_at:
        before, after = _split(update)
        last = _apply(history, before, now)
        final = {order: _finalized(credit) for order, credit in _credits(last, user, rules).items()}
        closed = _changed(_credits(history, user, rules), final)
        history = UserHistory(
            seen_records=last.seen_records,
            evaluated_at=last.evaluated_at,
            last_record_at=last.last_record_at,
            erased_at=update.erased_at,
            conversions=_positions(last.conversions),
        )
        update = after
    updated = _apply(history, update, now)
    kept = _without_old(updated, rules)
    current = _credits(updated, user, rules)
    kept_orders = _by_order(kept).keys() if kept else set()
    for order in _by_order(updated).keys() - kept_orders:
        current[order] = _finalized(current[order])  # an order without records cannot get new credit
    return kept, closed + _changed(_credits(history, user, rules), current)


def _split(update: Update) -> list[Update]:
    """Split an update into two: the records stored up to the erasure, and the records stored after it."""
    return [
        replace(
            update,
            touches=tuple(t for t in update.touches if (t.stored_at > update.erased_at) == is_later),
            conversions=tuple(c for c in update.conversions if (c.stored_at > update.erased_at) == is_later),
        )
        for is_later in (False, True)
    ]


def _apply(history: UserHistory, update: Update, now: int) -> UserHistory:
    touches = dict(history.touches)
    conversions = dict(history.conversions)
    # Compare both the event time and the append time with the erasure. A restarted upstream query can append a touch
    # again after the erasure, although the touch occurred before the erasure.
    valid = [touch for touch in update.touches if min(touch.effective_ts, touch.stored_at) > history.erased_at]
    # A touch from before the erasure counts in the version, which then does not depend on their order.
    added = len(update.touches) - len(valid)
    added += sum(_keep_first(touches, (touch.result_id, touch.version), touch) for touch in valid)
    added += sum(_keep_first(conversions, record.src, record) for record in update.conversions)
    has_records = bool(update.touches or update.conversions or update.erased_at)
    return replace(
        history,
        touches=touches,
        conversions=conversions,
        seen_records=history.seen_records + added,
        evaluated_at=max(history.evaluated_at, now),
        last_record_at=max(history.last_record_at, now) if has_records else history.last_record_at,
    )


def _keep_first(known: dict[K, R], key: K, record: R) -> bool:
    # A restarted query can store a record twice. The earlier append counts, even if the later append is read first.
    is_new = key not in known or record.stored_at < known[key].stored_at
    if is_new:
        known[key] = record
    return is_new


def _without_old(history: UserHistory, rules: CreditRules) -> UserHistory | None:
    if history.evaluated_at >= _expires_at(history, rules):
        return None
    records: list[Touch | Conversion] = [*history.touches.values(), *history.conversions.values()]
    newest_at = max((record.stored_at for record in records), default=0)
    min_stored_at = max(newest_at - rules.retention_ms, history.erased_at + 1)
    erased = {
        src: record
        for src, record in history.conversions.items()
        if newest_at - rules.retention_ms <= record.stored_at <= history.erased_at
    }
    by_time = sorted(history.touches.items(), key=lambda item: (item[1].effective_ts, item[0]))
    evicted = by_time[: max(len(by_time) - rules.max_user_touches, 0)]
    return replace(
        history,
        touches={touch_id: touch for touch_id, touch in by_time[len(evicted) :] if touch.stored_at >= min_stored_at},
        conversions=_positions(erased)
        | {
            record.src: record
            for of_order in _by_order(history).values()
            # An order keeps all its records if its newest record is kept. Otherwise a late copy could remain alone and
            # count as a new order.
            for record in of_order
            if max(other.stored_at for other in of_order) >= min_stored_at
        },
        evicted_until_ts=max([history.evicted_until_ts, *(touch.effective_ts for _, touch in evicted)]),
    )


def _positions(conversions: Mapping[str, Conversion]) -> dict[str, Conversion]:
    """
    Return conversions from before an erasure, reduced to their positions and append times.

    A restarted upstream query can append a conversion again after the erasure. Without the stored position, this copy
    would count as a new order.
    """
    return {src: Conversion(src, "", "", 0, "", 0, 0, record.stored_at, 0) for src, record in conversions.items()}


def _changed(before: Mapping[OrderKey, OrderCredit], after: Mapping[OrderKey, OrderCredit]) -> list[OrderCredit]:
    def is_same(order: OrderKey, credit: OrderCredit) -> bool:
        return order in before and replace(before[order], version=credit.version) == credit

    return [credit for order, credit in after.items() if not is_same(order, credit)]


def _credits(history: UserHistory, user: str, rules: CreditRules) -> dict[OrderKey, OrderCredit]:
    """Return each order's credit as of the last evaluation. Final credit has an odd version number."""
    by_order = {}
    for order, records in _by_order(history).items():
        credit = assign_credit(user, records, history.touches.values(), rules)
        window_start_ts = credit.effective_ts - rules.max_window_ms
        is_truncated = credit.path_truncated or window_start_ts <= history.evicted_until_ts <= credit.effective_ts
        # After an erasure, the state does not show whether the order had credit before the erasure. A separate result
        # id prevents the new credit from replacing the earlier credit.
        result_id = f"{credit.result_id}/{history.erased_at}" if history.erased_at else credit.result_id
        version = 2 * history.seen_records
        credit = replace(credit, result_id=result_id, version=version, path_truncated=is_truncated)
        by_order[order] = _finalized(credit) if history.evaluated_at >= _final_at(records, rules) else credit
    return by_order


def _by_order(history: UserHistory) -> dict[OrderKey, list[Conversion]]:
    # Records from before an erasure are omitted.
    records: defaultdict[OrderKey, list[Conversion]] = defaultdict(list)
    for record in history.conversions.values():
        if record.order_id:
            records[record.advertiser_id, record.order_id].append(record)
    return records


def next_timer_at(history: UserHistory, rules: CreditRules) -> int:
    """Return the next time at which, if no record arrives, credit becomes final or the state expires."""
    final_times = (_final_at(records, rules) for records in _by_order(history).values())
    return min((at for at in final_times if at > history.evaluated_at), default=_expires_at(history, rules))


def _expires_at(history: UserHistory, rules: CreditRules) -> int:
    return history.last_record_at + rules.retention_ms + rules.settle_ms


def _finalized(credit: OrderCredit) -> OrderCredit:
    # Final credit has an odd version number.
    return replace(credit, final=True, version=credit.version | 1)


def _final_at(records: list[Conversion], rules: CreditRules) -> int:
    # While the query reads a backlog, an old order's deadline has already passed when its first record is read. The
    # remaining records arrive shortly after the first one, so the settle time starts no earlier than the first read.
    first_seen_at = min(record.seen_at for record in records)
    return max(last_store_ms(records, rules), first_seen_at) + rules.settle_ms
