"""The credit rule in plain Python: divide the value of one order among the buyer's touches."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from examples.attribution.credit.models import MAX_MILLIONTHS, CreditRules, split, weights


@dataclass(frozen=True)
class Touch:
    """One version of the result for a click or an impression. Only the highest version stored in time counts."""

    result_id: str
    version: int
    kind: str
    is_valid: bool
    """False if this version marks the touch as a duplicate, as late, or as an orphan."""
    effective_ts: int
    event_id: str
    impression_id: str
    campaign_id: str
    stored_at: int
    """Append time of this version in `ad-attributed`."""


@dataclass(frozen=True)
class Conversion:
    """
    One conversion record of an order.

    Among the records stored in time, the one with the earliest event time determines the order's time, and the one with
    the latest event time determines the order's value.
    """

    src: str
    """The record's position in its source topic as `topic:partition:offset`, which identifies the record."""
    advertiser_id: str
    order_id: str
    effective_ts: int
    event_id: str
    value_micros: int
    appended_at: int
    stored_at: int
    """Append time of the record in `events`."""
    seen_at: int
    """Processing time at which the query first read the record."""


@dataclass(frozen=True)
class TouchShare:
    """The share of an order's value that one touch earns. The share of an impression is called view-through credit."""

    result_id: str
    kind: str
    campaign_id: str
    effective_ts: int
    credit_millionths: int
    value_micros: int


@dataclass(frozen=True)
class OrderCredit:
    """The credit for one order. For each `result_id`, only the highest version is valid."""

    result_id: str
    version: int
    code: str
    """`attributed` if at least one touch earns credit for the order, otherwise `unattributed`."""
    final: bool
    model: str
    advertiser_id: str
    order_id: str
    effective_ts: int
    value_micros: int
    records: int
    """Number of records of the order. All records except one are duplicates or restatements."""
    late_touches: int
    """Number of touches in the lookback window that were stored too late for credit."""
    path_truncated: bool
    src: str
    appended_at: int
    credits: tuple[TouchShare, ...]

    def document(self) -> dict[str, Any]:
        """Return the credit as a dictionary with the fields of a record in `ad-credits`."""
        fields = asdict(self)
        return fields | {"credits": list(fields["credits"])}


def assign_credit(
    user: str, records: Iterable[Conversion], touches: Iterable[Touch], rules: CreditRules
) -> OrderCredit:
    """
    Return the credit for the order described by `records`. The credit has version 0 and is not final.

    `records` must contain at least one record. Records and touches that are stored more than `lateness_ms` after the
    first record of the order do not count.
    """
    ordered = sorted(records, key=lambda record: (record.effective_ts, record.event_id, record.src))
    deadline = last_store_ms(ordered, rules)
    in_time = [record for record in ordered if record.stored_at <= deadline]
    first, last = in_time[0], in_time[-1]
    all_touches = list(touches)
    candidates = _candidates((touch for touch in all_touches if touch.stored_at <= deadline), first, rules)
    candidate_ids = {touch.result_id for touch in candidates}
    late_ids = {touch.result_id for touch in _candidates(all_touches, first, rules)} - candidate_ids
    eligible = _eligible(candidates, rules)
    is_truncated = len(eligible) > rules.max_path_touches
    path = [eligible[0], *eligible[len(eligible) - rules.max_path_touches + 1 :]] if is_truncated else eligible
    return OrderCredit(
        result_id=f"{user}/{first.advertiser_id}/{first.order_id}",
        version=0,
        code="attributed" if path else "unattributed",
        final=False,
        model=rules.model,
        advertiser_id=first.advertiser_id,
        order_id=first.order_id,
        effective_ts=first.effective_ts,
        value_micros=last.value_micros,
        records=len(ordered),
        late_touches=len(late_ids),
        path_truncated=is_truncated,
        src=first.src,
        appended_at=first.appended_at,
        credits=_shares(path, first.effective_ts, last.value_micros, rules),
    )


def last_store_ms(records: Sequence[Conversion], rules: CreditRules) -> int:
    """Return the latest append time at which a touch or record still counts for the order that has these `records`."""
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
    clicked_impressions = {touch.impression_id for touch in candidates if touch.kind == "click"}
    eligible = [
        touch
        for touch in candidates
        # An impression and the click on it are one interaction, so only the click counts as a touch.
        if touch.kind == "click"
        or not (clicked_impressions if rules.click_priority else touch.impression_id in clicked_impressions)
    ]
    return sorted(
        eligible, key=lambda touch: (touch.effective_ts, touch.kind != "click", touch.event_id, touch.result_id)
    )


def _shares(path: list[Touch], converted_at: int, value_micros: int, rules: CreditRules) -> tuple[TouchShare, ...]:
    inner_indexes = range(1, len(path) - 1)
    key = next((n for n in inner_indexes if path[n].campaign_id in rules.key_campaigns), None)
    fractions = weights([converted_at - touch.effective_ts for touch in path], rules, key)
    amounts = zip(path, split(MAX_MILLIONTHS, fractions), split(value_micros, fractions), strict=True)
    return tuple(
        TouchShare(touch.result_id, touch.kind, touch.campaign_id, touch.effective_ts, millionths, micros)
        for touch, millionths, micros in amounts
    )
