"""A transaction with too many events: later events get their own code, and the state stays small."""

import time
from dataclasses import replace

from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.correlation.timeouts import Transaction, advance
from examples.attribution.settings import Windows
from tests.attribution.correlation.histories import CLICK, IMPRESSION, REQUEST, T

MAX_SECONDS = 60


def clicks(count: int) -> list[Event]:
    return [replace(CLICK, event_id=f"k{n}", src=f"src:0:{n}") for n in range(count)]


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
    expected = {result.result_id: replace(result, version=0) for result in correlate(events, Windows())}
    assert expected == {result.result_id: replace(result, version=0) for result in emitted}
    assert time.monotonic() - started_at < MAX_SECONDS
