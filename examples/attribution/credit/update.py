"""
Apply new records to a user's state, and evict old records.

This module contains the complete logic of the credit query, without Spark. Append times of newer records decide which
records are evicted, so a replay evicts the same records as the run. Processing time decides when credit becomes final
and when the state of an inactive user expires.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from examples.attribution.credit.history import (
    OrderKey,
    UserHistory,
    conversions_by_order,
    expires_at,
    finalized,
    order_credits,
)
from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, OrderCredit, Touch

K = TypeVar("K")
R = TypeVar("R", Touch, Conversion)


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
        final = {order: finalized(credit) for order, credit in order_credits(last, user, rules).items()}
        closed = _changed(order_credits(history, user, rules), final)
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
    current = order_credits(updated, user, rules)
    kept_orders = conversions_by_order(kept).keys() if kept else set()
    for order in conversions_by_order(updated).keys() - kept_orders:
        current[order] = finalized(current[order])  # without the order's records, its credit cannot change
    return kept, closed + _changed(order_credits(history, user, rules), current)


def _split(update: Update) -> list[Update]:
    """Return two updates: the records stored up to the erasure, and the records stored later."""
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
    # A touch from before the erasure counts in the version, which then does not depend on the order of both.
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
    if history.evaluated_at >= expires_at(history, rules):
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
            for of_order in conversions_by_order(history).values()
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
