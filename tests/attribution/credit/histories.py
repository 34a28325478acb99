"""Generated histories of one user, for tests that compare a processor with the plain rule."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from hypothesis import strategies as st
from pyspark.sql import Row

from examples.attribution.credit.models import CreditRules, Lookback
from examples.attribution.credit.rule import Conversion, Credited, Touch, credit

RULES = CreditRules(
    lookback=Lookback(100, 40),
    lookback_of_campaign={"short": Lookback(20, 5)},
    half_life_ms=50,
    key_campaigns=frozenset({"short"}),
    longest_path=3,
    lateness_ms=30,
    delay_ms=100,
    settle_ms=10,
)
"""Small windows, so that generated times fall on both sides of them."""

T = 10_000
Record = Touch | Conversion
R = TypeVar("R")


@dataclass(frozen=True)
class Erasure:
    """A tombstone for the user."""

    stored_at: int


@st.composite
def touches(draw: st.DrawFn, name: str, span_ms: int, delay_ms: int) -> list[Touch]:
    """Draw the versions of one touch, stored one after the other."""
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
    """Draw the records of one order: copies and changed values follow while the order is remembered."""
    first_ts = draw(st.integers(T, T + span_ms))
    records = []
    for n in range(draw(st.integers(1, 3))):
        effective_ts = first_ts + draw(st.sampled_from([0, 0, 1, RULES.lateness_ms, RULES.longest_window_ms]))
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
def histories(draw: st.DrawFn, span_ms: int, delay_ms: int) -> list[Record]:
    """Draw what happened to one user within `span_ms`, each record stored within `delay_ms`."""
    drawn: list[Record] = []
    for name in range(draw(st.integers(0, 6))):
        drawn += draw(touches(f"t{name}", span_ms, delay_ms))
    for order_id in range(draw(st.integers(1, 2))):
        drawn += draw(conversions(f"o{order_id}", span_ms, delay_ms))
    return drawn


def identity(record: Record) -> tuple[str, int]:
    """Return what makes two deliveries the same record."""
    return (record.result_id, record.version) if isinstance(record, Touch) else (record.src, 0)


def splits(records: list[R]) -> st.SearchStrategy[list[list[R]]]:
    """Cut an order of arrival into calls."""
    cuts = st.sets(st.integers(1, max(len(records) - 1, 1)))
    return cuts.map(lambda at: [records[i:j] for i, j in zip([0, *sorted(at)], [*sorted(at), None], strict=True)])


def input_row(record: Record | Erasure) -> Row:
    """Return a record as the processor gets it."""
    fields = Row(**asdict(record))
    return Row(
        touch=fields if isinstance(record, Touch) else None,
        conversion=fields if isinstance(record, Conversion) else None,
        stored_at=record.stored_at,
    )


def expected(user: str, records: Iterable[Record], rules: CreditRules = RULES) -> dict[str, Credited]:
    """Return the rule's final answers to all orders, by result id."""
    orders: defaultdict[str, list[Conversion]] = defaultdict(list)
    known: list[Touch] = []
    for record in records:
        if isinstance(record, Touch):
            known.append(record)
        else:
            orders[record.order_id].append(record)
    answers = (credit(user, of_order, known, rules) for of_order in orders.values())
    return {answer.result_id: replace(answer, final=True) for answer in answers}


def expected_of_two_lives(
    user: str, records: Iterable[Record], erased_at: int | None, rules: CreditRules = RULES
) -> dict[str, Credited]:
    """Return the rule's final answers before and after an erasure, if any: the second life forgets the first."""
    if erased_at is None:
        return expected(user, records, rules)
    lives: tuple[list[Record], list[Record]] = ([], [])
    for record in records:
        if record.stored_at <= erased_at or isinstance(record, Conversion) or record.effective_ts > erased_at:
            lives[record.stored_at > erased_at].append(record)
    again = expected(user, lives[1], rules).items()
    later = {f"{key}/{erased_at}": replace(answer, result_id=f"{key}/{erased_at}") for key, answer in again}
    return expected(user, lives[0], rules) | later
