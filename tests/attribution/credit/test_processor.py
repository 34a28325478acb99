"""The credit processor against the plain rule: any order, any split, and state that always ends."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from examples.attribution.credit.models import CreditRules
from examples.attribution.credit.processor import CONVERSION, TOUCH, CreditProcessor
from examples.attribution.credit.rule import Conversion, Credit, Credited, Touch
from tests.attribution.credit.histories import (
    RULES,
    Erasure,
    Record,
    T,
    expected,
    expected_of_two_lives,
    histories,
    identity,
    input_row,
    splits,
)

USER = "u"
SPAN_MS = 120
DELAY_MS = 20
LONG_SPAN_MS = 2_000

CLICK = Touch("x", 2, "click", True, T, "x", "i", "long", T)
ORDER = Conversion("events:0:1", "a", "o1", T + 5, "e", 100, T + 6, T + 7, 0)


class Run:
    """One user in Spark's tester: the newest version of each answer, and the checks that hold for every row."""

    def __init__(self, rules: CreditRules = RULES) -> None:
        """Start the clock before everything."""
        self.tester = TwsTester(CreditProcessor(rules), timeMode="processingTime", outputMode="update")
        self.now = 0
        self.newest: dict[str, Credited] = {}
        self.emitted = 0

    def at(self, now: int, *records: Record | Erasure) -> None:
        """Let timers fire up to `now`, then bring records in one call."""
        if now > self.now:  # the tester refuses to stand still
            self.now = now
            self.fold(self.tester.setProcessingTime(now))
        if records:
            self.fold(self.tester.test(USER, [input_row(record) for record in records]))

    def fold(self, rows: Iterable[Row]) -> None:
        """Keep the newest version; a version never stands for two contents, and money always adds up."""
        for row in rows:
            answer = answer_of(row)
            known = self.newest.get(answer.result_id)
            assert known is None or answer.version > known.version
            assert sum(earned.value_micros for earned in answer.credits) in (answer.value_micros, 0)
            assert (answer.code == "attributed") * 1_000_000 == sum(e.credit_millionths for e in answer.credits)
            self.newest[answer.result_id] = answer
            self.emitted += 1

    def contents(self) -> dict[str, Credited]:
        """Return the newest answers without their versions."""
        return {key: replace(answer, version=0) for key, answer in self.newest.items()}

    def state(self) -> list[Any]:
        """Return everything that is kept for the user, timers included."""
        self.tester.handle.setGroupingKey(USER)
        kept = [self.tester.peekMapState("touches", USER), self.tester.peekListState("conversions", USER)]
        return [item for item in (*kept, self.tester.peekValueState("user", USER)) if item] + [
            *self.tester.handle.listTimers()
        ]


def answer_of(row: Row) -> Credited:
    """Return an output row as the rule's answer."""
    fields = row.asDict()
    return Credited(**{**fields, "credits": tuple(Credit(**credit.asDict()) for credit in fields["credits"])})


@hypothesis_settings(max_examples=1_000, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_any_order_and_any_split_end_in_the_answers_of_the_rule(data: st.DataObject) -> None:
    """Rows one at a time, all together, reordered and delivered twice give the same final answers, and no state."""
    history = data.draw(histories(SPAN_MS, DELAY_MS))
    again = data.draw(st.lists(st.sampled_from(history), max_size=3))
    arrival = list(data.draw(st.permutations(history + again)))
    run, together = Run(), Run()

    for n, call in enumerate(data.draw(splits(arrival))):
        run.at(T + 10 * n, *call)
    together.at(T, *arrival)
    for each in (run, together):
        each.at(T + 10 * LONG_SPAN_MS)
        each.at(T + 20 * LONG_SPAN_MS)

    assert expected(USER, history) == run.contents() == together.contents()
    assert [] == run.state() == together.state()


@hypothesis_settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(history=histories(LONG_SPAN_MS, RULES.delay_ms), jitter=st.randoms(use_true_random=False))
def test_what_old_records_leave_behind_changes_no_answer(history: list[Record], jitter: Any) -> None:
    """Over many windows the state forgets, and what arrives a little out of order is still answered by the rule."""
    arrives = {identity(record): record.stored_at + jitter.randrange(RULES.settle_ms) for record in history}
    arrival = sorted(history, key=lambda record: arrives[identity(record)])
    run = Run()

    for record in arrival:
        run.at(arrives[identity(record)], record)
        kept = run.tester.peekMapState("touches", USER)
        oldest = max(other.stored_at for other in arrival[: arrival.index(record) + 1]) - RULES.retention_ms
        assert all(value[TOUCH.names.index("stored_at")] >= oldest for value in kept.values())
    run.at(T + 10 * LONG_SPAN_MS)

    assert expected(USER, history) == run.contents()
    assert [] == run.state()


def test_an_answer_is_provisional_then_restated_then_final() -> None:
    """A touch that comes late but in time restates the answer; each step has a higher version."""
    run, answers = Run(), []
    late = replace(CLICK, result_id="y", event_id="y", effective_ts=T + 1, stored_at=T + 20)

    for now, records in ((T, [CLICK]), (T + 8, [ORDER]), (T + 21, [late]), (ORDER.stored_at + 40, [])):
        run.at(now, *records)
        answers += [(a.version, a.final, [c.value_micros for c in a.credits]) for a in run.newest.values()]

    assert [(4, False, [100]), (6, False, [50, 50]), (7, True, [50, 50])] == answers


def test_a_touch_that_comes_too_late_is_counted_and_earns_nothing() -> None:
    """After the lateness has passed the credits stand."""
    run = Run()
    late = replace(CLICK, stored_at=ORDER.stored_at + RULES.lateness_ms + 1)

    run.at(T + 8, ORDER)
    run.at(T + 100, late)

    assert [("unattributed", 1, True)] == [(a.code, a.late_touches, a.final) for a in run.newest.values()]


def test_the_same_records_again_say_nothing_new() -> None:
    """A redelivery by the engine emits no row."""
    run = Run()
    run.at(T + 8, CLICK, ORDER)

    run.at(T + 9, CLICK, ORDER)

    assert 1 == run.emitted


@pytest.mark.parametrize("first", [0, 1], ids=["early-copy-first", "late-copy-first"])
def test_a_touch_stored_twice_counts_from_its_first_time(first: int) -> None:
    """An earlier query that restarted may store a result again; the order of reading does not matter."""
    run = Run()
    late = replace(CLICK, stored_at=ORDER.stored_at + RULES.lateness_ms + 1)
    copies = [CLICK, late]

    for record in (ORDER, copies[first], copies[1 - first]):
        run.at(T + 40, record)

    assert [("attributed", 0)] == [(answer.code, answer.late_touches) for answer in run.newest.values()]


def test_a_user_with_too_many_touches_keeps_the_newest_and_says_so() -> None:
    """The state of one user is bounded, and an answer that may miss touches is marked."""
    run = Run(replace(RULES, most_touches=3))
    many = [replace(CLICK, result_id=f"x{n}", event_id=f"x{n}", effective_ts=T + n) for n in range(5)]

    run.at(T + 4, *many)
    run.at(T + 8, ORDER)

    assert 3 == len(run.tester.peekMapState("touches", USER))
    assert [(True, 3)] == [(answer.path_truncated, len(answer.credits)) for answer in run.newest.values()]


@hypothesis_settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(data=st.data(), history=histories(SPAN_MS, DELAY_MS), erased_at=st.integers(T, T + SPAN_MS + DELAY_MS))
def test_erasure_in_any_split_ends_one_life_and_begins_another(
    data: st.DataObject, history: list[Record], erased_at: int
) -> None:
    """What was answered before an erasure stands; what comes after it counts on its own, without old touches."""
    arrival = sorted([Erasure(erased_at), *history], key=lambda each: (each.stored_at, isinstance(each, Erasure)))
    run = Run()

    for call in data.draw(splits(arrival)):
        run.at(max(each.stored_at for each in call), *call)
    run.at(T + 10 * LONG_SPAN_MS)

    before = [each for each in history if each.stored_at <= erased_at]
    assert expected_of_two_lives(USER, history, erased_at) == run.contents()
    assert {*expected(USER, before)} <= {*run.contents()}
    assert sum(isinstance(r, Conversion) for r in history) == sum(a.records for a in run.newest.values())
    assert [] == run.state()


def test_erasure_forgets_the_user_and_keeps_the_totals() -> None:
    """A tombstone makes answers final, removes all touches and orders, and older touches do not come back."""
    run = Run()
    run.at(T + 8, CLICK, ORDER)

    run.at(T + 50, Erasure(T + 50))

    assert [("attributed", True)] == [(answer.code, answer.final) for answer in run.newest.values()]
    assert ({}, []) == (run.tester.peekMapState("touches", USER), run.tester.peekListState("conversions", USER))
    stored_again = replace(CLICK, version=4, stored_at=T + 54)
    run.at(T + 60, CLICK, stored_again, replace(ORDER, src="events:0:2", stored_at=T + 55))
    assert ["attributed", "unattributed"] == [run.newest[f"{USER}/a/o1{life}"].code for life in ("", f"/{T + 50}")]
    run.at(T + 10 * LONG_SPAN_MS)
    assert [] == run.state()


def test_a_user_who_stays_active_has_one_timer() -> None:
    """The end of the state moves with each record, and the timer that stands is enough."""
    run = Run()

    for n in range(5):
        run.at(T + n, replace(CLICK, result_id=f"x{n}", stored_at=T + n))

    assert 1 == len([item for item in run.state() if isinstance(item, int)])
    run.at(T + RULES.retention_ms + RULES.settle_ms)
    assert 5 == len(run.tester.peekMapState("touches", USER))
    run.at(T + 4 + RULES.retention_ms + RULES.settle_ms)
    assert [] == run.state()


@pytest.mark.parametrize(("schema", "record"), [(TOUCH, CLICK), (CONVERSION, ORDER)], ids=["touch", "conversion"])
def test_the_state_holds_every_field_of_the_rule(schema: Any, record: Record) -> None:
    """State is written field by field, so that both must have the same fields in the same order."""
    assert list(record.__dataclass_fields__) == schema.names
