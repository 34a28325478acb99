from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from examples.attribution.correlation.processor import CorrelationProcessor, Transaction, advance
from examples.attribution.correlation.rule import HISTORY, Event, Result, correlate
from examples.attribution.correlation.windows import Windows
from tests.attribution.correlation.histories import (
    CLICK,
    LIMITED,
    REQUEST,
    WINDOWS,
    Results,
    T,
    changes,
    fold,
    histories,
    splits,
    unversioned,
)

pytestmark = pytest.mark.spark


SLACK_MS = 500
ALL_WINDOWS = st.sampled_from([WINDOWS, WINDOWS, LIMITED])

KEY = ("t", T)
BEFORE, AFTER = 1, 10 * T
TIMES = st.integers(T - 500, T + WINDOWS.horizon_ms)


class Run:
    """One transaction in Spark's TwsTester, and the newest version of each result."""

    def __init__(self, windows: Windows = WINDOWS) -> None:
        processor = CorrelationProcessor(windows, SLACK_MS)
        self.tester = TwsTester(processor, timeMode="processingTime", outputMode="update")
        self.now = 0
        self.newest: Results = {}

    def at(self, now: int, *events: Event) -> list[Result]:
        """Fire the timers up to `now`, then pass events in one call; return the emitted results."""
        rows: list[Row] = []
        if now > self.now:  # the tester rejects an unchanged time
            self.now = now
            rows += self.tester.setProcessingTime(now)
        if events:
            rows += self.tester.test(KEY, [input_row(event) for event in events])
        emitted = [Result(**row.asDict()) for row in rows]
        fold(self.newest, emitted)
        return emitted

    def timers(self) -> list[int]:
        self.tester.handle.setGroupingKey(KEY)
        return [*self.tester.handle.listTimers()]

    def state(self) -> list[Any]:
        state = self.tester.peekValueState("transaction", KEY)
        return [state] * bool(state) + self.timers()


def input_row(event: Event) -> Row:
    return Row(**{name: value for name, value in asdict(event).items() if name in HISTORY} | {"slots": [*event.slots]})


@hypothesis_settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(data=st.data(), history=histories(), windows=ALL_WINDOWS, repeats_all=st.booleans())
def test_timeouts_alongside_another_query_equal_the_rule(
    data: st.DataObject, history: list[Event], windows: Windows, repeats_all: bool
) -> None:
    """The processor and a faster or slower query for the other results together give the results of the rule."""
    run = Run(windows)
    read_events = 0

    def read_on(until: int) -> None:
        nonlocal read_events
        for count in range(read_events + 1, until + 1):
            read = history[:count]
            fold(run.newest, correlate(read, windows) if repeats_all else changes(read, windows))
        read_events = max(read_events, until)

    for call in data.draw(splits(history)):
        read_on(data.draw(st.integers(0, len(history))))
        run.at(max(data.draw(TIMES), run.now), *call)
        assert len(run.timers()) <= 1
    is_faster = data.draw(st.booleans())
    if is_faster:
        run.at(AFTER)
    read_on(len(history))
    run.at(2 * AFTER)

    assert unversioned(correlate(history, windows, AFTER)) == unversioned(run.newest.values())
    assert "pending" not in {result.code for result in run.newest.values()}
    assert [] == run.state()


def test_each_deadline_emits_its_own_timeouts() -> None:
    run = Run()
    step = replace(CLICK, kind="start", event_id="p", src="src:0:4")
    run.at(T, REQUEST, CLICK, step)
    click_timeout_at = CLICK.server_ts + WINDOWS.impression_to_click_ms + 1

    first = run.at(click_timeout_at - 1)
    second = run.at(click_timeout_at)

    assert {"unfilled", "orphan_step"} == {result.code for result in first}
    assert ["orphan_click"] == [result.code for result in second]


def test_state_keeps_at_most_the_maximum_number_of_records() -> None:
    events = [REQUEST, *(replace(CLICK, event_id=f"k{n}", src=f"src:0:{n}") for n in range(300))]
    state = Transaction()

    for start in range(0, len(events), 100):
        state = advance(state, events[start : start + 100], Windows(), 0, T).transaction or state

    assert Windows().max_events == len(state.history)
