"""
The correlation rule: every code, and every window just inside, exactly at, and just outside its end.

    impression waits |   ad slot is pending    |
    for its request  |                         |
    ├─── 5 min ──────┼──────── 5 min ──────────┤
                   request                          (T)
                          ├────────────── 15 min ───────────────┤  click
                          ├── 30 s ──┼──────── 5 min ────────┤     playback steps
                      impression  end of the creative

All ends belong to their windows.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from examples.attribution.correlation.rule import STEPS, Event, correlate
from examples.attribution.correlation.windows import Windows

WINDOWS = Windows()
T = 1_000_000_000
SECOND = 1_000
MINUTE = 60 * SECOND

Codes = dict[str, str]
SHOWN = T + 4 * MINUTE


def event(kind: str, event_id: str, at: int = T, server: int | None = None, **fields: Any) -> Event:
    """Return an event; the collector's time equals the device's time unless `server` is given."""
    return Event(
        effective_ts=at,
        event_id=event_id,
        src=fields.pop("src", f"topic:0:{event_id}"),
        kind=kind,
        transaction_id="t",
        request_ts=T,
        campaign_id="c",
        server_ts=at if server is None else server,
        appended_at=at,
        **fields,
    )


def request(event_id: str = "r", at: int = T, slots: tuple[str, ...] = ("s",), **fields: Any) -> Event:
    return event("request", event_id, at, slots=slots, **fields)


def impression(event_id: str = "i", at: int = T + SECOND, slot_id: str = "s", **fields: Any) -> Event:
    """Return an impression of a 30-second creative, a second after the request."""
    values = {"impression_id": f"{event_id}-id", "creative_length_ms": 30 * SECOND, **fields}
    return event("impression", event_id, at, slot_id=slot_id, **values)


def callback(kind: str, event_id: str, at: int, of: str = "i", **fields: Any) -> Event:
    return event(kind, event_id, at, impression_id=f"{of}-id", **fields)


def codes(*events: Event, now: int | None = None) -> Codes:
    """Return codes by result id without the transaction; they must be equal for several orders of arrival."""
    outcomes = []
    for seed in range(6):
        shuffled = random.Random(seed).sample(events, len(events)) if seed else list(events)
        results = correlate(shuffled, WINDOWS, now)
        assert len({result.result_id for result in results}) == len(results)
        outcomes.append({result.result_id.removeprefix(f"t/{T}/"): result.code for result in results})
    assert all(outcome == outcomes[0] for outcome in outcomes)
    return outcomes[0]


def steps_after(at: int, *without: str) -> list[Event]:
    return [callback(step, step, at + n) for n, step in enumerate(STEPS) if step not in without]


PARTIAL = "partial_quartiles"
FILLED = {"request/r": "accepted", "slot/s": "filled", "impression/i": "matched"}
HISTORIES: dict[str, tuple[list[Event], Codes]] = {
    "a complete view matches every step": (
        [request(), impression(), callback("click", "k", T + 5 * SECOND), *steps_after(T + 2 * SECOND)],
        FILLED | {"click/k": "matched"} | {f"{step}/{step}": "matched" for step in STEPS},
    ),
    "a complete view without a step is partial": (
        [request(), impression(), *steps_after(T + 2 * SECOND, "midpoint")],
        FILLED | {f"{step}/{step}": "matched" for step in STEPS if step != "midpoint"} | {"complete/complete": PARTIAL},
    ),
    "the earliest impression of a slot is billable, and for equal times the lowest id": (
        [request(), impression("i2", T + 5), impression("i1", T + 5), impression("i0", T + 6)],
        {"request/r": "accepted", "slot/s": "filled", "impression/i1": "matched"}
        | dict.fromkeys(("impression/i2", "impression/i0"), "duplicate_impression"),
    ),
    "impressions of different slots": (
        [request(slots=("a", "b")), impression("i1", slot_id="a"), impression("i2", slot_id="b")],
        {"request/r": "accepted", "slot/a": "filled", "slot/b": "filled"}
        | {"impression/i1": "matched", "impression/i2": "matched"},
    ),
    "an orphan impression does not fill the slot": (
        [request(), impression("early", T - 6 * MINUTE), impression("good", T + MINUTE)],
        {"request/r": "accepted", "slot/s": "filled"}
        | {"impression/early": "orphan_impression", "impression/good": "matched"},
    ),
    "a request is not late at the time of its impression": ([request(), impression(at=T)], FILLED),
    "copies of a sender change no other result": (
        [request(), *(replace(impression(), src=f"topic:0:{n}") for n in range(3))],
        FILLED | {f"duplicate_event/impression/i/{n}": "duplicate_event" for n in (1, 2)},
    ),
    "a record that is read twice is no copy": ([request(), request(), impression(), impression()], FILLED),
    "slots of a second request": (
        [request("r1", T, ("a",)), request("r2", T + 1, ("b",)), impression(slot_id="b")],
        {"request/r1": "accepted", "request/r2": "duplicate_request", "slot/a": "pending", "slot/b": "filled"}
        | {"impression/i": "matched"},
    ),
    "slots of a repeated request with other slots": (
        [request(at=T + 1, src="a"), request(at=T, src="b", slots=("other",))],
        {"request/r": "accepted", "duplicate_event/request/r/1": "duplicate_event"}
        | {"slot/s": "pending", "slot/other": "pending"},
    ),
    "only the first click and step of an impression count": (
        [request(), impression()]
        + [callback("click", f"k{n}", T + n * SECOND) for n in (2, 3)]
        + [callback("start", f"p{n}", T + n * SECOND) for n in (2, 3)],
        FILLED | {"click/k2": "matched", "click/k3": "repeat_click", "start/p2": "matched", "start/p3": "repeat_step"},
    ),
}


@pytest.mark.parametrize(("history", "expected"), HISTORIES.values(), ids=HISTORIES)
def test_history_has_exactly_these_codes(history: list[Event], expected: Codes) -> None:
    assert expected == codes(*history)


EDGES: dict[str, tuple[Callable[[int], list[Event]], int, Sequence[str]]] = {
    "impression": (
        lambda ms: [request(), impression(at=T + ms)],
        5 * MINUTE,
        ("impression/i", "matched", "late_impression"),
    ),
    "slot": (lambda ms: [request(), impression(at=T + ms)], 5 * MINUTE, ("slot/s", "filled", "pending")),
    "click": (
        lambda ms: [request(), impression(at=SHOWN), callback("click", "k", SHOWN + ms)],
        15 * MINUTE,
        ("click/k", "matched", "late_click"),
    ),
    "step": (
        lambda ms: [request(), impression(at=T), callback("midpoint", "p", T + ms)],
        5 * MINUTE + 30 * SECOND,
        ("midpoint/p", "matched", "late_step"),
    ),
    "late request": (
        lambda ms: [request(), impression(at=T - ms)],
        5 * MINUTE,
        ("impression/i", "matched_late_request", "orphan_impression"),
    ),
}


@pytest.mark.parametrize(("history", "window_ms", "expected"), EDGES.values(), ids=EDGES)
def test_window_holds_its_end(history: Callable[[int], list[Event]], window_ms: int, expected: Sequence[str]) -> None:
    """An impression's window starts at its request. The impression waits equally long for a late request."""
    name, inside, outside = expected
    assert [inside, inside, outside] == [codes(*history(window_ms + ms))[name] for ms in (-1, 0, 1)]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (impression(at=T - 2 * SECOND, server=T + 10 * MINUTE), ("matched", False)),
        (impression(at=T - 2 * SECOND - 1, server=T + MINUTE), ("matched", True)),
        (impression(at=T - 2 * SECOND - 1, server=T + 10 * MINUTE), ("late_impression", True)),
        (impression(clock_skew=True), ("matched", True)),
    ],
    ids=["tolerated", "matched-by-collector-times", "late-by-collector-times", "already-flagged"],
)
def test_impression_before_its_request_uses_collector_times(shown: Event, expected: tuple[str, bool]) -> None:
    """Two seconds of clock skew are tolerated; beyond that, collector times decide and `clock_skew` is set."""
    result = next(r for r in correlate([request(), shown], WINDOWS) if r.kind == "impression")

    assert expected == (result.code, result.clock_skew)


@pytest.mark.parametrize(
    ("shown", "code", "callbacks"),
    [
        (impression(at=T + 6 * MINUTE), "late_impression", ("late_click", "late_step")),
        (impression(at=T - 6 * MINUTE), "orphan_impression", ("orphan_click", "orphan_step")),
        (impression(slot_id="x"), "invalid_slot", ("orphan_click", "orphan_step")),
    ],
)
def test_callbacks_of_unmatched_impression_do_not_match(shown: Event, code: str, callbacks: tuple[str, str]) -> None:
    at = shown.effective_ts + SECOND

    actual = codes(request(), shown, callback("click", "k", at), callback("start", "p", at))

    assert ("pending", code, *callbacks) == tuple(actual[k] for k in ("slot/s", "impression/i", "click/k", "start/p"))


def test_unmatched_results_are_pending_until_their_deadline() -> None:
    events = [request("r"), callback("click", "k", T), callback("start", "p", T)]
    pending = {r.kind: r.deadline for r in correlate(events, WINDOWS) if r.code == "pending"}

    assert {"slot": T + 5 * MINUTE, "click": T + 15 * MINUTE, "start": T + 5 * MINUTE} == pending
    final = {"slot/s": "unfilled", "click/k": "orphan_click", "start/p": "orphan_step"}
    assert {"request/r": "accepted", **final} == codes(*events, now=T + 60 * MINUTE)


def test_impression_without_request_becomes_an_orphan() -> None:
    shown_at = T + SECOND
    events = (impression(at=shown_at), callback("click", "k", shown_at))

    actual = [codes(*events, now=shown_at + 5 * MINUTE + ms) for ms in (-1, 0, 1)]

    assert [("pending", "pending")] * 2 + [("orphan_impression", "orphan_click")] == [
        (found["impression/i"], found["click/k"]) for found in actual
    ]


def test_events_beyond_the_maximum_change_no_other_result() -> None:
    """The first events keep their results; each further event of any kind gets one result."""
    first = [request(), *(callback("click", f"k{n}", T + n) for n in range(WINDOWS.max_events - 1))]
    further = [request("r2"), *(callback("click", f"x{n}", T) for n in range(4))]

    results = correlate([*first, *further, *further], WINDOWS)

    assert correlate(first, WINDOWS) == [result for result in results if result.code != "too_many_events"]
    assert [f"t/{T}/too_many_events/{event.src}" for event in further] == [
        result.result_id for result in results if result.code == "too_many_events"
    ]
    assert {2 * WINDOWS.max_events} == {result.version for result in results}
