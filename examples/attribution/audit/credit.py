"""
Check the answers of the credit hop: every order has a final one, its credits add up, and the rule gives the same.

What arrives are the books of a run; what leaves are counts of conversions, sums of money, and differences.
Erasure is the exception: an answer that was there when its user was erased stands as it was, and is only counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from examples.attribution.audit.replay import Order, orders
from examples.attribution.audit.run_log import Books, Row, order_of
from examples.attribution.credit.models import MOST_MILLIONTHS, CreditRules
from examples.attribution.credit.rule import Credited
from examples.attribution.settings import Windows


@dataclass(frozen=True)
class CreditCheck:
    """What the answers add up to, and what is wrong with them."""

    conversions: Counter[str]
    """`in`, and what became of the records; of an order all but one are duplicates."""
    compared: int
    """Orders whose answer the rule determines."""
    erased: int
    """Orders whose user asked for erasure after they had come, so that the moment of reading decides."""
    late_touches: int
    """Touches in a window whose results were stored too late to earn credit."""
    value_micros: int
    """Value of the attributed orders."""
    credited_micros: int
    """What their touches earned."""
    differences: list[str]


def check_credits(books: Books, windows: Windows, rules: CreditRules) -> CreditCheck:
    """Compare the newest answers with the rule, applied to all records; `rules` are those of the run, scaled."""
    expected = orders(books, windows, rules)
    by_order: defaultdict[str, list[Row]] = defaultdict(list)
    for answer in books.credits.values():
        by_order[order_of(answer)].append(answer)
    answers = [answer for name in expected for answer in by_order.get(name, [])]
    attributed = [answer for answer in answers if answer["code"] == "attributed"]
    compared = {name for name, order in expected.items() if _is_determined(order, by_order.get(name, []))}
    return CreditCheck(
        conversions=_conversions(books),
        compared=len(compared),
        erased=len(expected) - len(compared),
        late_touches=sum(answer["late_touches"] for answer in answers),
        value_micros=sum(answer["value_micros"] for answer in attributed),
        credited_micros=sum(credit["value_micros"] for answer in attributed for credit in answer["credits"]),
        differences=[
            *(text for name, order in expected.items() for text in _answer_differences(name, order, by_order)),
            *(text for name in compared for text in _rule_differences(expected[name], books.credits)),
            *(f"credit {name} has no conversion" for name in by_order.keys() - expected.keys()),
        ],
    )


def _is_determined(order: Order, answers: list[Row]) -> bool:
    if order.expected is None:
        return False
    # What was appended after an erasure may still have been read before it.
    return not order.is_after_erasure or [order.expected.result_id] == [answer["result_id"] for answer in answers]


def _conversions(books: Books) -> Counter[str]:
    counts = Counter({"in": sum(event.kind == "conversion" for event in books.events.values())})
    for answer in books.credits.values():
        counts[answer["code"]] += 1
        counts["duplicate"] += answer["records"] - 1
    return counts


def _answer_differences(name: str, order: Order, by_order: Mapping[str, list[Row]]) -> Iterator[str]:
    answers = by_order.get(name, [])
    if not answers:
        yield f"credit {name} is missing; {order.records} conversions have no answer"
    elif (records := sum(answer["records"] for answer in answers)) != order.records:
        yield f"credit {name} knows {records} conversions instead of {order.records}"
    for answer in answers:
        if not answer["final"]:
            yield f"credit {answer['result_id']} is not final"
        yield from _sum_differences(answer["result_id"], answer)


def _rule_differences(order: Order, answers: Mapping[str, Row]) -> Iterator[str]:
    if order.expected is None or order.expected.result_id not in answers:
        return
    answer = answers[order.expected.result_id]
    wrong = ", ".join(
        f"{k} is {answer.get(k)!r} instead of {v!r}" for k, v in _row(order.expected).items() if answer.get(k) != v
    )
    if wrong:
        yield f"credit {order.expected.result_id} differs: {wrong}"


def _sum_differences(name: str, answer: Row) -> Iterator[str]:
    is_attributed = answer["code"] == "attributed"
    sums = {"credit_millionths": MOST_MILLIONTHS, "value_micros": answer["value_micros"]}
    for unit, whole in sums.items():
        due, earned = whole if is_attributed else 0, sum(credit[unit] for credit in answer["credits"])
        if earned != due:
            yield f"credit {name} is {answer['code']}, but its {unit} add up to {earned} instead of {due}"


def _row(answer: Credited) -> Row:
    row = asdict(answer) | {"credits": [asdict(credit) for credit in answer.credits]}
    return {name: value for name, value in row.items() if name not in ("version", "final")}
