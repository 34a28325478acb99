from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from hypothesis import strategies as st
from pyspark.sql import Row

from examples.attribution.credit.models import CreditRules, Lookback
from examples.attribution.credit.rule import Conversion, OrderCredit, Touch, assign_credit

RULES = CreditRules(
    lookback=Lookback(100, 40),
    lookback_of_campaign={"short": Lookback(20, 5)},
    half_life_ms=50,
    key_campaigns=frozenset({"short"}),
    max_path_touches=3,
    lateness_ms=30,
    delay_ms=100,
    settle_ms=10,
)
"""Small windows, so generated times are inside and outside of them."""

T = 10_000
UserRecord = Touch | Conversion


@dataclass(frozen=True)
class Erasure:
    stored_at: int


@st.composite
def touches(draw: st.DrawFn, name: str, span_ms: int, delay_ms: int) -> list[Touch]:
    """Draw the versions of one touch, each stored after the previous one."""
    effective_ts = draw(st.integers(T, T + span_ms))
    first = Touch(
        result_id=name,
        version=1,
        kind=draw(st.sampled_from(["click", "impression"])),
        is_valid=True,
        effective_ts=effective_ts,
        event_id=name,
        impression_id=draw(st.sampled_from(["i1", "i2", "i3"])),
        campaign_id=draw(st.sampled_from(["long", "long", "short"])),
        stored_at=effective_ts,
    )
    delays_ms = sorted(draw(st.lists(st.integers(0, delay_ms), min_size=1, max_size=3)))
    valid = draw(st.lists(st.sampled_from([True, True, False]), min_size=3, max_size=3))
    return [
        replace(first, version=n + 1, is_valid=valid[n], stored_at=effective_ts + stored_ms)
        for n, stored_ms in enumerate(delays_ms)
    ]


@st.composite
def conversions(draw: st.DrawFn, order_id: str, span_ms: int, delay_ms: int) -> list[Conversion]:
    """Draw the records of one order: a first one, then copies and changed values while the order is in the state."""
    first_ts = draw(st.integers(T, T + span_ms))
    records = []
    for n in range(draw(st.integers(1, 3))):
        effective_ts = first_ts + draw(st.sampled_from([0, 0, 1, RULES.lateness_ms, RULES.max_window_ms]))
        records.append(
            Conversion(
                src=f"events:0:{order_id}{n}",
                advertiser_id="a",
                order_id=order_id,
                effective_ts=effective_ts,
                event_id=draw(st.sampled_from(["e1", "e2"])),
                value_micros=draw(st.sampled_from([100, 101, 7])),
                appended_at=effective_ts,
                stored_at=effective_ts + draw(st.integers(0, delay_ms)),
                seen_at=0,
            )
        )
    return records


@st.composite
def histories(draw: st.DrawFn, span_ms: int, delay_ms: int) -> list[UserRecord]:
    """Draw the records of one user: events within `span_ms`, each stored within `delay_ms`."""
    drawn: list[UserRecord] = []
    for name in range(draw(st.integers(0, 6))):
        drawn += draw(touches(f"t{name}", span_ms, delay_ms))
    for order_id in range(draw(st.integers(1, 2))):
        drawn += draw(conversions(f"o{order_id}", span_ms, delay_ms))
    return drawn


def identity(record: UserRecord) -> tuple[str, int]:
    """Return the identity of a record, which is the same for all its deliveries."""
    return (record.result_id, record.version) if isinstance(record, Touch) else (record.src, 0)


def input_row(record: UserRecord | Erasure) -> Row:
    fields = Row(**asdict(record))
    return Row(
        touch=fields if isinstance(record, Touch) else None,
        conversion=fields if isinstance(record, Conversion) else None,
        stored_at=record.stored_at,
    )


def expected_credits(user: str, records: Iterable[UserRecord]) -> dict[str, OrderCredit]:
    by_order: defaultdict[str, list[Conversion]] = defaultdict(list)
    all_touches: list[Touch] = []
    for record in records:
        if isinstance(record, Touch):
            all_touches.append(record)
        else:
            by_order[record.order_id].append(record)
    credits_of_orders = (assign_credit(user, of_order, all_touches, RULES) for of_order in by_order.values())
    return {credit.result_id: replace(credit, final=True) for credit in credits_of_orders}


def expected_with_erasure(user: str, records: Iterable[UserRecord], erased_at: int) -> dict[str, OrderCredit]:
    """Return the final credit according to the rule, which separates the records before and after an erasure."""
    before, later = ([r for r in records if (r.stored_at > erased_at) == is_later] for is_later in (False, True))
    after = [record for record in later if isinstance(record, Conversion) or record.effective_ts > erased_at]
    credits_after = (
        replace(credit, result_id=f"{credit.result_id}/{erased_at}")
        for credit in expected_credits(user, after).values()
    )
    return expected_credits(user, before) | {credit.result_id: credit for credit in credits_after}
