"""Check that each order's credit is final, and equals the credit that the rule computes."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from examples.attribution.audit.replay import replay_orders
from examples.attribution.audit.run_log import Row, RunLog, result_id_without_erasure
from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, OrderCredit
from examples.attribution.settings import Windows


@dataclass(frozen=True)
class CreditAudit:
    """The outcome of the credit audit of one run. A correct run has no differences."""

    conversions: Counter[str]
    """
    Number of conversion records by outcome, with the total number under the key `in`.

    One record of each order counts under the code of the order's credit; all others count as `duplicate`.
    """
    compared: int
    """Number of orders whose credit was compared with the credit that the rule computes."""
    erased: int
    """Number of orders that were not compared, because their users were erased."""
    differences: list[str]


def audit_credit(log: RunLog, windows: Windows, rules: CreditRules) -> CreditAudit:
    """Compare each order's newest credit with the credit that the rule computes. `rules` must contain scaled times."""
    orders = replay_orders(log, windows, rules)
    by_order: defaultdict[str, list[Row]] = defaultdict(list)
    for credit in log.credits.values():
        by_order[result_id_without_erasure(credit)].append(credit)
    compared = [expected for _, expected in orders.values() if expected]
    return CreditAudit(
        conversions=_conversions(log),
        compared=len(compared),
        erased=len(orders) - len(compared),
        differences=[
            *(text for name, (records, _) in orders.items() for text in _order_differences(name, records, by_order)),
            *(text for expected in compared for text in _rule_differences(expected, log.credits)),
            *(f"credit {order_id} has no conversion in the replay" for order_id in by_order.keys() - orders.keys()),
        ],
    )


def _conversions(log: RunLog) -> Counter[str]:
    counts = Counter({"in": sum(event.kind == "conversion" for event in log.events.values())})
    for credit in log.credits.values():
        counts[credit["code"]] += 1
        counts["duplicate"] += credit["records"] - 1
    return counts


def _order_differences(
    order_id: str, records: Sequence[Conversion], by_order: Mapping[str, list[Row]]
) -> Iterator[str]:
    credits_of_order = by_order.get(order_id, [])
    if not credits_of_order:
        yield f"credit {order_id} is missing for an order with {len(records)} conversions"
    elif (counted := sum(credit["records"] for credit in credits_of_order)) != len(records):
        yield f"credit {order_id} includes {counted} conversions instead of {len(records)}"
    yield from (f"credit {credit['result_id']} is not final" for credit in credits_of_order if not credit["final"])


def _rule_differences(expected: OrderCredit, credits_by_id: Mapping[str, Row]) -> Iterator[str]:
    if expected.result_id in credits_by_id:
        fields = {name: value for name, value in expected.document().items() if name != "final"}
        if wrong := field_differences(credits_by_id[expected.result_id], fields):
            yield f"credit {expected.result_id} differs: {wrong}"


def field_differences(row: Row, fields: Row) -> str:
    """Return the fields of `row` that differ from `fields`. Versions are not compared, and a missing field is null."""
    wrong = [name for name in fields if name != "version" and row.get(name) != fields[name]]
    return ", ".join(f"{name} is {row.get(name)!r} instead of {fields[name]!r}" for name in wrong)
