from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any, TypeVar

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from examples.attribution.correlation.rule import HISTORY, STEPS, Event, Result, correlate
from examples.attribution.correlation.windows import Windows

Results = dict[str, Result]
"""Results by id."""

WINDOWS = Windows().scaled(1000)
"""Small windows, so generated times are before and after their ends."""

LIMITED = replace(WINDOWS, max_events=4)
"""Windows with a maximum number of events that about half of the generated histories exceed."""

T = 10_000
REQUEST = Event(T, "r", "src:0:r", "request", "t", T, "c", T, T, slots=("a",))
IMPRESSION = replace(REQUEST, event_id="i", src="src:0:i", kind="impression", slots=(), slot_id="a", impression_id="x")
IMPRESSION = replace(IMPRESSION, creative_length_ms=30)
CLICK = replace(IMPRESSION, event_id="k", src="src:0:k", kind="click", slot_id=None, creative_length_ms=None)
EDGES_MS = (300, 900, 330, -2, -300)
TIMES = st.one_of(
    st.sampled_from([T + edge + near for edge in EDGES_MS for near in (-1, 0, 1)]), st.integers(T - 1_500, T + 2_500)
)
D = TypeVar("D")
# Strategies are made once, because making one takes longer than drawing from it.
KINDS = st.sampled_from(("request", "impression", "impression", "click", "click", "start", "complete", *STEPS))
EVENT_IDS = st.sampled_from(["e1", "e2", "e3", "e4", "e5"])
DELAYS_MS = st.sampled_from([0, 0, 1, -1, 299, 300, 301, -600, 900])
USERS = st.sampled_from([None, "u"])
SLOT_IDS = st.sampled_from("abc")
SLOTS = st.lists(SLOT_IDS, min_size=1, max_size=3)
IMPRESSION_IDS = st.sampled_from(["i1", "i2"])
FLAGS = st.booleans()


@st.composite
def events(draw: st.DrawFn) -> Event:
    """Draw one event from a few ids and times, so duplicates, equal times, and times at window ends are common."""
    kind = draw(KINDS)
    effective_ts = draw(TIMES)
    return Event(
        effective_ts=effective_ts,
        event_id=draw(EVENT_IDS),
        src="",
        kind=kind,
        transaction_id="t",
        request_ts=T,
        campaign_id="c",
        server_ts=effective_ts + draw(DELAYS_MS),
        appended_at=effective_ts + 1,
        clock_skew=draw(FLAGS),
        user_key=draw(USERS),
        slots=tuple(draw(SLOTS)) if kind == "request" else (),
        slot_id=draw(SLOT_IDS) if kind == "impression" else None,
        impression_id=draw(IMPRESSION_IDS) if kind != "request" else None,
        creative_length_ms=30 if kind == "impression" else None,
    )


EVENTS = events()


@st.composite
def histories(draw: st.DrawFn, max_size: int = 7) -> list[Event]:
    """Draw a transaction's events in order of arrival, some twice; half of the histories have a matched impression."""
    drawn = draw(st.lists(EVENTS, min_size=1, max_size=max_size))
    if draw(FLAGS):
        request = replace(drawn[0], kind="request", event_id="r", effective_ts=T, server_ts=T, slots=("a",))
        impression = replace(request, kind="impression", event_id="i", slot_id="a", impression_id="i1", slots=())
        impression = replace(impression, creative_length_ms=30)
        drawn += [replace(request, impression_id=None, slot_id=None), impression]
    records = [replace(event, src=f"topic:0:{n:03d}") for n, event in enumerate(drawn)]
    duplicates = draw(st.lists(st.sampled_from(records), max_size=1))
    return list(draw(st.permutations(records + duplicates)))


def history_row(history: list[Event]) -> list[tuple[Any, ...]]:
    rows = []
    for event in history:
        fields = {**asdict(event), "slots": list(event.slots) or None}
        rows.append(tuple(fields[name] for name in HISTORY))
    return rows


def drawn(strategy: st.SearchStrategy[D], count: int) -> list[D]:
    """
    Return `count` values of a strategy.

    Hypothesis also draws constants from imported modules, so the values differ between processes.
    """
    values: list[D] = []

    @hypothesis_settings(
        max_examples=count, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(one=strategy)
    def draw(one: D) -> None:
        values.append(one)

    draw()
    return values


def splits(records: list[D]) -> st.SearchStrategy[list[list[D]]]:
    """Divide records into batches for successive calls of a processor."""
    cuts = st.sets(st.integers(1, max(len(records) - 1, 1)))
    return cuts.map(lambda at: [records[i:j] for i, j in zip([0, *sorted(at)], [*sorted(at), None], strict=True)])


def unversioned(results: Iterable[Result]) -> Results:
    return {result.result_id: replace(result, version=0) for result in results}


def changes(history: list[Event], windows: Windows) -> list[Result]:
    before = unversioned(correlate(history[:-1], windows))
    return [r for r in correlate(history, windows) if before.get(r.result_id) != replace(r, version=0)]


def fold(newest: Results, emitted: Iterable[Result]) -> None:
    """Keep the highest version, as the sink does; equal versions must have equal contents."""
    for result in emitted:
        known = newest.get(result.result_id)
        assert known is None or known.version != result.version or known == result
        if known is None or result.version > known.version:
            newest[result.result_id] = result
