"""The correlation processor against the rule and the SQL form's versions: any order, any split, and an end."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from examples.attribution.correlation.processor import CorrelationProcessor
from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.correlation.sql import HISTORY
from examples.attribution.results import ATTRIBUTED
from examples.attribution.settings import Settings
from tests.attribution.correlation.histories import WINDOWS, T, histories

SETTINGS = replace(Settings(), time_scale=1_000, watermark_slack_ms=500)
"""The windows of the generated histories."""

KEY = ("t", T)
BEFORE, AFTER = 1, 10 * T
MOMENTS = st.integers(T - 500, T + WINDOWS.horizon_ms)
REQUEST = Event(T, "r", "src:0:1", "request", "t", T, "c", T, T, slots=("a",))
SHOWN = replace(REQUEST, event_id="i", src="src:0:2", kind="impression", slots=(), slot_id="a", impression_id="x")
SHOWN = replace(SHOWN, creative_length_ms=30, effective_ts=T + 1)
CLICK = replace(SHOWN, event_id="k", src="src:0:3", kind="click", slot_id=None, creative_length_ms=None)

Results = dict[str, Result]


class Run:
    """One transaction in Spark's tester, and the newest version of each of its results."""

    def __init__(self, *, only_due: bool = False) -> None:
        """Start the clock before everything."""
        processor = CorrelationProcessor(SETTINGS, only_due=only_due)
        self.tester = TwsTester(processor, timeMode="processingTime", outputMode="update")
        self.now = 0
        self.newest: Results = {}

    def at(self, now: int, *events: Event) -> list[Result]:
        """Let timers fire up to `now`, then bring events in one call; return what was emitted."""
        rows: list[Row] = []
        if now > self.now:  # the tester refuses to stand still
            self.now = now
            rows += self.tester.setProcessingTime(now)
        if events:
            rows += self.tester.test(KEY, [input_row(event) for event in events])
        emitted = [Result(**row.asDict()) for row in rows]
        fold(self.newest, emitted)
        return emitted

    def state(self) -> list[Any]:
        """Return everything that is kept for the transaction, timers included."""
        self.tester.handle.setGroupingKey(KEY)
        kept = (self.tester.peekValueState("transaction", KEY), self.tester.peekListState("others", KEY))
        return [state for state in kept if state] + [*self.tester.handle.listTimers()]


def input_row(event: Event) -> Row:
    """Return an event as the processor gets it."""
    return Row(**{name: value for name, value in asdict(event).items() if name in HISTORY} | {"slots": [*event.slots]})


def fold(newest: Results, emitted: Iterable[Result]) -> None:
    """Upsert as the sink does: the highest version stays, and none stands for two contents."""
    for result in emitted:
        known = newest.get(result.result_id)
        assert known is None or known.version != result.version or known == result
        if known is None or result.version > known.version:
            newest[result.result_id] = result


def by_id(results: Iterable[Result], *, versions: bool = True) -> Results:
    """Return results by id, without versions on demand."""
    return {r.result_id: r if versions else replace(r, version=0) for r in results}


def changes(history: list[Event]) -> list[Result]:
    """Return what a real-time query emits for the newest event of a history: the results that it changed."""
    before = by_id(correlate(history[:-1], WINDOWS), versions=False)
    return [r for r in correlate(history, WINDOWS) if before.get(r.result_id) != replace(r, version=0)]


def calls(data: st.DataObject, history: list[Event]) -> Iterator[list[Event]]:
    """Cut a history into calls, from one at a time to all together."""
    cuts = data.draw(st.sets(st.integers(1, max(len(history) - 1, 1))))
    for start, end in pairwise([0, *sorted(cuts), len(history)]):
        if history[start:end]:
            yield history[start:end]


@hypothesis_settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(data=st.data(), history=histories())
def test_any_split_answers_at_once_what_the_rule_answers(data: st.DataObject, history: list[Event]) -> None:
    """Before any deadline, after every call, the newest versions are the rule's results, in the SQL form's versions."""
    run = Run()
    seen: list[Event] = []

    for call in calls(data, history):
        emitted = run.at(BEFORE, *call)
        seen += call
        truth = by_id(correlate(seen, WINDOWS))
        assert by_id(truth.values(), versions=False) == by_id(run.newest.values(), versions=False)
        assert all(truth[result.result_id] == result for result in emitted)


@hypothesis_settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(data=st.data(), history=histories())
def test_any_split_over_time_ends_in_the_rule_without_anything_pending(
    data: st.DataObject, history: list[Event]
) -> None:
    """Events may come before, at and after deadlines: in the end the rule's verdicts stand, and no state is left."""
    run = Run()

    for call in calls(data, history):
        run.at(max(data.draw(MOMENTS), run.now), *call)
    run.at(AFTER)
    run.at(2 * AFTER)

    assert by_id(correlate(history, WINDOWS, AFTER), versions=False) == by_id(run.newest.values(), versions=False)
    assert [] == run.state()


@hypothesis_settings(max_examples=500, deadline=None, derandomize=True, database=None)
@given(data=st.data(), history=histories(), repeats_all=st.booleans())
def test_time_outs_beside_a_query_that_reads_faster_or_slower_end_in_the_rule(
    data: st.DataObject, history: list[Event], repeats_all: bool
) -> None:
    """Two queries read one partition, each at its own pace: whichever writes first, the newest versions are right."""
    run = Run(only_due=True)
    read = 0

    def read_on(until: int) -> None:
        nonlocal read
        for count in range(read + 1, until + 1):
            fold(run.newest, correlate(history[:count], WINDOWS) if repeats_all else changes(history[:count]))
        read = max(read, until)

    for call in calls(data, history):
        read_on(data.draw(st.integers(0, len(history))))
        run.at(max(data.draw(MOMENTS), run.now), *call)
    overtaken = data.draw(st.booleans())
    if overtaken:
        run.at(AFTER)
    read_on(len(history))
    run.at(2 * AFTER)

    assert by_id(correlate(history, WINDOWS, AFTER), versions=False) == by_id(run.newest.values(), versions=False)
    assert "pending" not in {result.code for result in run.newest.values()}
    assert [] == run.state()


@pytest.mark.parametrize(
    ("after_ms", "expected"),
    [
        pytest.param(-1, [], id="just-inside"),
        pytest.param(0, [], id="exactly-at"),
        pytest.param(1, ["unfilled"], id="just-outside"),
    ],
)
def test_a_slot_is_unfilled_as_soon_as_its_window_has_passed(after_ms: int, expected: list[str]) -> None:
    """The timer stands at the first moment at which no impression can match."""
    run = Run(only_due=True)
    run.at(T, REQUEST)

    emitted = run.at(T + WINDOWS.request_to_impression_ms + after_ms)

    assert expected == [result.code for result in emitted]


def test_each_deadline_of_a_transaction_is_answered_when_it_is_due() -> None:
    """The orphan step falls due with its slot, the orphan click ten minutes later."""
    run = Run()
    step = replace(CLICK, kind="start", event_id="p", src="src:0:4")
    run.at(T, REQUEST, CLICK, step)
    click_due_at = CLICK.server_ts + WINDOWS.impression_to_click_ms + 1

    first = run.at(click_due_at - 1)
    second = run.at(click_due_at)

    assert {"unfilled", "orphan_step"} == {result.code for result in first}
    assert ["orphan_click"] == [result.code for result in second]


def test_a_match_found_later_beats_the_time_out() -> None:
    """An impression that was long on its way replaces `unfilled` by `filled`, whatever writes first."""
    run = Run()
    run.at(T, REQUEST)
    time_out = run.at(T + WINDOWS.request_to_impression_ms + 1)

    matched = run.at(T + WINDOWS.request_to_impression_ms + 2, SHOWN)

    assert [("unfilled", 3)] == [(result.code, result.version) for result in time_out]
    slot = next(result for result in matched if result.kind == "slot")
    assert ("filled", 4) == (slot.code, slot.version)
    assert "filled" == run.newest[slot.result_id].code


def test_a_time_out_is_repeated_above_every_new_record() -> None:
    """A query that repeats all results says `pending` again with each record; the time-out must stay above it."""
    run = Run(only_due=True)
    run.at(T, REQUEST)
    run.at(T + WINDOWS.request_to_impression_ms + 1)

    emitted = run.at(T + WINDOWS.request_to_impression_ms + 2, CLICK)

    assert [("slot", "unfilled", 5)] == [(result.kind, result.code, result.version) for result in emitted]


def test_a_matched_transaction_says_nothing_when_time_passes() -> None:
    """With nothing pending the timers only end the state."""
    run = Run(only_due=True)

    emitted = [*run.at(T, REQUEST, SHOWN, CLICK), *run.at(AFTER)]

    assert [] == emitted
    assert [] == run.state()


def test_state_that_expired_leaves_no_timer_behind() -> None:
    """If TTL was faster than the timer, the timer finds nothing, says nothing and ends."""
    run = Run()
    run.at(T, REQUEST)
    run.tester.deleteState("transaction", KEY)

    assert [] == run.at(AFTER)
    assert [] == run.state()


def test_results_have_the_fields_of_the_sql_form() -> None:
    """Rows are written field by field, so that both must have the same fields in the same order."""
    assert ATTRIBUTED.names == list(Result.__dataclass_fields__)
    assert {*HISTORY} == {*Event.__dataclass_fields__}
