"""A transaction with too many events: later events get their own code, and the state stays small."""

import time
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.correlation.timeouts import Transaction, advance
from examples.attribution.settings import Windows
from tests.attribution.correlation.histories import CLICK, IMPRESSION, LIMITED, REQUEST, Results, T, fold, histories

pytestmark = pytest.mark.spark

MAX_SECONDS = 60
BEFORE, AFTER = 1, 10 * T


def clicks(count: int) -> list[Event]:
    return [replace(CLICK, event_id=f"k{n}", src=f"src:0:{n}") for n in range(count)]


def contents(results: Iterable[Result]) -> Results:
    return {result.result_id: replace(result, version=0) for result in results}


def test_events_beyond_the_maximum_change_no_other_result() -> None:
    """The first events keep their results; each further event of any kind gets one result."""
    fit = Windows().max_events - 2
    first, further = [REQUEST, IMPRESSION, *clicks(fit)], [replace(REQUEST, src="src:1:0"), *clicks(fit + 4)[fit:]]

    results = correlate([*first, *further, *further], Windows())

    assert correlate(first, Windows()) == [result for result in results if result.code != "too_many_events"]
    assert [f"t/{T}/too_many_events/{event.src}" for event in further] == [
        result.result_id for result in results if result.code == "too_many_events"
    ]
    assert {2 * Windows().max_events} == {result.version for result in results}


def test_state_keeps_at_most_the_maximum_number_of_records() -> None:
    state, emitted, events = Transaction(), list[Result](), [REQUEST, IMPRESSION, *clicks(4_998)]
    started_at = time.monotonic()

    for start in range(0, len(events), 100):
        outcome = advance(state, events[start : start + 100], Windows(), 0, T)
        assert outcome.transaction is not None
        state, emitted = outcome.transaction, [*emitted, *outcome.changed]

    assert Windows().max_events == len(state.history)
    assert 5_000 - Windows().max_events == sum(result.code == "too_many_events" for result in emitted)
    assert contents(correlate(events, Windows())) == contents(emitted)
    assert time.monotonic() - started_at < MAX_SECONDS


@hypothesis_settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(data=st.data(), history=histories())
def test_any_split_above_the_maximum_gives_the_results_of_the_rule(data: st.DataObject, history: list[Event]) -> None:
    newest: Results = {}
    state, rest = Transaction(), history
    while rest:
        count = data.draw(st.integers(1, len(rest)))
        outcome = advance(state, rest[:count], LIMITED, 0, BEFORE)
        fold(newest, outcome.changed)
        assert outcome.transaction is not None
        state, rest = outcome.transaction, rest[count:]

    assert contents(correlate(history, LIMITED)) == contents(newest.values())
    assert len(state.history) <= LIMITED.max_events


@hypothesis_settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(data=st.data(), history=histories())
def test_timeouts_above_the_maximum_equal_the_rule(data: st.DataObject, history: list[Event]) -> None:
    newest: Results = {}
    state, now = Transaction(), BEFORE
    for count in range(1, len(history) + 1):
        now = max(now, data.draw(st.integers(T - 500, T + LIMITED.horizon_ms)))
        outcome = advance(state, [history[count - 1]], LIMITED, AFTER, now, timeouts_only=True)
        state = outcome.transaction or Transaction()
        before = contents(correlate(history[: count - 1], LIMITED))
        changes = [r for r in correlate(history[:count], LIMITED) if before.get(r.result_id) != replace(r, version=0)]
        for emitted in data.draw(st.permutations([changes, outcome.changed])):
            fold(newest, emitted)
    fold(newest, advance(state, [], LIMITED, 0, AFTER, timeouts_only=True).changed)

    assert contents(correlate(history, LIMITED, AFTER)) == contents(newest.values())
