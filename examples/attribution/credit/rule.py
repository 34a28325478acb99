"""
The credit rule in plain Python: which touches of a user earn how much of one order, in millionths and in money.

What arrives are the records of one order and the touches of its user, in any order; what leaves is one `Credited`.
Real-time mode demands an answer that depends on the records only: lateness is read from their append times, and the
time of looking decides no credit, only whether the answer is called final.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from examples.attribution.credit.models import MOST_MILLIONTHS, CreditRules, split, weights


@dataclass(frozen=True)
class Touch:
    """One version of the result of a click or impression; the highest version that is in time counts."""

    result_id: str
    version: int
    kind: str
    is_valid: bool
    """False for a version that says duplicate, late or orphan."""
    effective_ts: int
    event_id: str
    impression_id: str
    campaign_id: str
    stored_at: int
    """Append time of this version in the topic of results."""


@dataclass(frozen=True)
class Conversion:
    """One record of an order; the first record in time decides when it happened, the last one its value."""

    src: str
    """Where the record stands in Kafka: its identity."""
    advertiser_id: str
    order_id: str
    effective_ts: int
    event_id: str
    value_micros: int
    appended_at: int
    stored_at: int
    """Append time of the record in `events`."""
    seen_at: int
    """When the hop first saw it, by the engine's clock."""


@dataclass(frozen=True)
class Credit:
    """What one touch earns; an impression here is a view-through."""

    result_id: str
    kind: str
    campaign_id: str
    effective_ts: int
    credit_millionths: int
    value_micros: int


@dataclass(frozen=True)
class Credited:
    """What is known of one order; the highest `version` of a `result_id` is the truth."""

    result_id: str
    version: int
    code: str
    """`attributed`, or `unattributed`: an order without touches is never dropped, or totals would not reconcile."""
    final: bool
    model: str
    advertiser_id: str
    order_id: str
    effective_ts: int
    value_micros: int
    records: int
    """Records of the order; all but one are duplicates or restatements."""
    late_touches: int
    """Touches in the window that were stored too late to count."""
    path_truncated: bool
    src: str
    appended_at: int
    credits: tuple[Credit, ...]


def credit(user: str, records: Iterable[Conversion], touches: Iterable[Touch], rules: CreditRules) -> Credited:
    """
    Return the credits of one order, whose `records` are at least one; version 0, not yet final.

    Whatever was stored up to `lateness_ms` after the order's first record counts, and nothing later.
    """
    ordered = sorted(records, key=lambda record: (record.effective_ts, record.event_id, record.src))
    deadline = last_store_ms(ordered, rules)
    in_time = [record for record in ordered if record.stored_at <= deadline]
    first, last = in_time[0], in_time[-1]
    every = list(touches)
    candidates = _candidates((touch for touch in every if touch.stored_at <= deadline), first, rules)
    late = {touch.result_id for touch in _candidates(every, first, rules)} - {touch.result_id for touch in candidates}
    path = _eligible(candidates, rules)
    kept = path if len(path) <= rules.longest_path else [path[0], *path[len(path) - rules.longest_path + 1 :]]
    return Credited(
        result_id=f"{user}/{first.advertiser_id}/{first.order_id}",
        version=0,
        code="attributed" if kept else "unattributed",
        final=False,
        model=rules.model,
        advertiser_id=first.advertiser_id,
        order_id=first.order_id,
        effective_ts=first.effective_ts,
        value_micros=last.value_micros,
        records=len(ordered),
        late_touches=len(late),
        path_truncated=len(kept) < len(path),
        src=first.src,
        appended_at=first.appended_at,
        credits=_credits(kept, first.effective_ts, last.value_micros, rules),
    )


def last_store_ms(records: Sequence[Conversion], rules: CreditRules) -> int:
    """Return the last append time that still counts for the order with these records."""
    return min(record.stored_at for record in records) + rules.lateness_ms


def _candidates(touches: Iterable[Touch], conversion: Conversion, rules: CreditRules) -> list[Touch]:
    newest: dict[str, Touch] = {}
    for touch in touches:
        known = newest.get(touch.result_id)
        if known is None or touch.version > known.version:
            newest[touch.result_id] = touch
    return [
        touch
        for touch in newest.values()
        if touch.is_valid
        and 0 <= conversion.effective_ts - touch.effective_ts <= rules.window_ms(touch.kind, touch.campaign_id)
    ]


def _eligible(candidates: list[Touch], rules: CreditRules) -> list[Touch]:
    clicked = {touch.impression_id for touch in candidates if touch.kind == "click"}
    kept = [
        touch
        for touch in candidates
        # One interaction is one touch: a click takes the place of the impression it was made on.
        if touch.kind == "click" or not (clicked if rules.click_priority else touch.impression_id in clicked)
    ]
    return sorted(kept, key=lambda touch: (touch.effective_ts, touch.kind != "click", touch.event_id, touch.result_id))


def _credits(path: list[Touch], converted_at: int, value_micros: int, rules: CreditRules) -> tuple[Credit, ...]:
    between = range(1, len(path) - 1)
    key = next((n for n in between if path[n].campaign_id in rules.key_campaigns), None)
    shares = weights([converted_at - touch.effective_ts for touch in path], rules, key)
    earned = zip(path, split(MOST_MILLIONTHS, shares), split(value_micros, shares), strict=True)
    return tuple(
        Credit(touch.result_id, touch.kind, touch.campaign_id, touch.effective_ts, millionths, micros)
        for touch, millionths, micros in earned
    )
