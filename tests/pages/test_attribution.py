import ast
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from itertools import count, pairwise
from typing import Any, TypeVar

import pytest

from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.credit.history import UserHistory
from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.rule import Conversion, Touch
from examples.attribution.credit.update import Update, advance
from examples.attribution.events import BILLABLE, FAMILIES
from examples.attribution.pacing.rule import count_slots
from examples.attribution.settings import Settings
from examples.attribution.topics import TOPICS
from examples.attribution.traffic.generator import TrafficGenerator
from scripts.pack import files
from spark_rtm.text import markdown

RULE = files.ROOT / "examples/attribution/correlation/rule.py"
PAGE = files.ROOT / "references/attribution.md"
SETTINGS = Settings(time_scale=1, rate=20, warm_up_seconds=0, seed=7)
STARTED_AT = 1_767_225_600
"""2026-01-01 00:00:00 UTC, in seconds."""
HOP_MS = 2
"""Time from the send of a record to its append, and from the append of an input to the append of its output."""

Document = dict[str, Any]
T = TypeVar("T")


def _codes_of_the_rule() -> tuple[set[str], set[str]]:
    literal, composed = {"unfilled"}, set()
    for node in ast.walk(ast.parse(RULE.read_text())):
        if isinstance(node, ast.Call):
            codes = [argument for argument in node.args[:1] if ast.unparse(node.func) == "Match"]
            codes += [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            for code in codes:
                literal |= {word for word in re.findall(r"'([a-z_]+)'", ast.unparse(code)) if not word.endswith("_")}
                composed |= set(re.findall(r"'([a-z]+_)\{", ast.unparse(code)))
    return literal, {prefix + family for prefix in composed | {"orphan_"} for family in (*FAMILIES, "step")}


def test_page_names_exactly_the_codes_of_the_rule() -> None:
    [table] = [table for table in markdown.tables(PAGE.read_text()) if table.header[0] == "code"]

    named = {code for _, cells in table.rows for code in re.findall(r"`([a-z_]+)`", cells[0])}

    literal, composed = _codes_of_the_rule()
    assert set() == literal - named
    assert set() == named - literal - composed
    assert {"matched", "pending", "late_click", "orphan_step"} <= named & (literal | composed)


@dataclass(frozen=True)
class Appended:
    src: str
    appended_at: int
    value: Document


@pytest.fixture(scope="module")
def story() -> list[Appended]:
    """Return all records of one user up to the first order of the seeded traffic; they belong to one transaction."""
    offsets = {topic: count() for topic in TOPICS}
    appended: list[Appended] = []
    for record in TrafficGenerator(SETTINGS, "run", STARTED_AT).records():
        src = f"{record.topic}:0:{next(offsets[record.topic]):012d}"
        value = json.loads(record.value) if record.label == "normal" and record.value else {}
        appended.append(Appended(src, int((STARTED_AT + record.send_at) * 1000) + HOP_MS, value))
        if value.get("kind") == "conversion":
            return [one for one in appended if one.value.get("user_key") == value["user_key"]]
    raise AssertionError("the traffic has ended without an order")


def _made(kind: type[T], document: Document, **others: Any) -> T:
    """Return a dataclass of the rules, filled from the matching fields of a document and from `others`."""
    known = {name: document[name] for name in (field.name for field in fields(kind)) if name in document}  # type: ignore[arg-type]
    return kind(**known | others)


def _evaluations(story: list[Appended]) -> Iterator[tuple[Appended, list[Result]]]:
    """Yield each record before the order, with the results of the rule after it."""
    events: list[Event] = []
    for record in story[:-1]:
        effective_ts, slots = record.value["event_ts"], tuple(record.value.get("slots", ()))
        position = {"src": record.src, "appended_at": record.appended_at}
        events.append(_made(Event, record.value, effective_ts=effective_ts, slots=slots, **position))
        yield record, correlate(events, SETTINGS.windows)


def _touches(story: list[Appended]) -> Iterator[Result]:
    for record, results in _evaluations(story):
        yield from (one for one in results if one.src == record.src and one.kind in FAMILIES)


def _credit(story: list[Appended]) -> Document:
    """Return the credit that is emitted when the conversion is read, after its touches one by one."""
    *_, order = story
    user, history, rules = order.value["user_key"], UserHistory(), CreditRules()
    for result in _touches(story):
        stored_at = result.appended_at + 2 * HOP_MS
        touch = _made(Touch, asdict(result), is_valid=result.code in BILLABLE, stored_at=stored_at)
        next_history, _ = advance(history, user, Update(touches=(touch,)), rules, stored_at)
        assert next_history
        history = next_history
    stored_at = order.appended_at + HOP_MS
    times = {"effective_ts": order.value["event_ts"], "stored_at": stored_at, "seen_at": stored_at}
    conversion = _made(Conversion, order.value, src=order.src, appended_at=order.appended_at, **times)
    _, [credit] = advance(history, user, Update(conversions=(conversion,)), rules, stored_at)
    return credit.document()


def _row_of_schema(module: str, schema: str) -> Document:
    statements = ast.parse((files.ROOT / f"examples/attribution/{module}.py").read_text()).body
    for assignment, docstring in pairwise(statements):
        if isinstance(assignment, ast.Assign) and ast.unparse(assignment.targets[0]) == schema:
            text = ast.literal_eval(ast.unparse(docstring))
            row: Document = json.loads(text[text.index("{") :])
            return row
    raise AssertionError(f"{module} has no {schema}")


def test_rows_of_the_schemas_follow_from_the_rules(story: list[Appended]) -> None:
    request = next(record for record in story if record.value["kind"] == "request")
    times = {"effective_ts": request.value["event_ts"], "appended_at": request.appended_at}
    event = {**request.value, **times, "clock_skew": False, "src": request.src}
    results = next(results for record, results in _evaluations(story) if record.value["kind"] == "click")
    [click] = [asdict(result) for result in results if result.kind == "click"]
    [slots] = count_slots(results, SETTINGS)

    assert request.value == _row_of_schema("schemas", "INPUT")
    assert event == _row_of_schema("schemas", "EVENTS")
    assert {k: v for k, v in click.items() if v is not None} == _row_of_schema("correlation/schemas", "ATTRIBUTED")
    assert asdict(slots) | {"result_id": slots.result_id} == _row_of_schema("attributed_to_pacing", "PACING")
    assert _credit(story) == _row_of_schema("touches_to_credit", "CREDITS")
