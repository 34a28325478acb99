"""The correlation rule: every code, and every window just inside, exactly at, and just outside its end."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from examples.attribution.correlation.rule import Event, correlate
from examples.attribution.events import STEPS
from examples.attribution.settings import Windows
from tests.attribution.correlation.histories import WINDOWS as SMALL_WINDOWS
from tests.attribution.correlation.histories import histories

WINDOWS = Windows()
T = 1_000_000_000
SECOND = 1_000
MINUTE = 60 * SECOND

Codes = dict[str, str]


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
    """Return a click or playback step of impression `of`."""
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


def test_complete_view_matches_every_step() -> None:
    steps = [callback(step, step, T + (n + 2) * SECOND) for n, step in enumerate(STEPS)]

    actual = codes(request(), impression(), callback("click", "k", T + 5 * SECOND), *steps)

    assert {
        "request/r": "accepted",
        "slot/s": "filled",
        "impression/i": "matched",
        "click/k": "matched",
        **{f"{step}/{step}": "matched" for step in STEPS},
    } == actual


@pytest.mark.parametrize(
    ("delay_ms", "code"),
    [
        pytest.param(0, "matched", id="at-once"),
        pytest.param(5 * MINUTE - 1, "matched", id="just-inside"),
        pytest.param(5 * MINUTE, "matched", id="exactly-at"),
        pytest.param(5 * MINUTE + 1, "late_impression", id="just-outside"),
    ],
)
def test_impression_matches_up_to_five_minutes_after_request(delay_ms: int, code: str) -> None:
    """The window includes both ends; a late impression fills no slot."""
    actual = codes(request(), impression(at=T + delay_ms))

    assert code == actual["impression/i"]
    assert ("filled" if code == "matched" else "pending") == actual["slot/s"]


@pytest.mark.parametrize(
    ("delay_ms", "code"),
    [
        pytest.param(15 * MINUTE - 1, "matched", id="just-inside"),
        pytest.param(15 * MINUTE, "matched", id="exactly-at"),
        pytest.param(15 * MINUTE + 1, "late_click", id="just-outside"),
    ],
)
def test_click_matches_up_to_fifteen_minutes_after_impression(delay_ms: int, code: str) -> None:
    shown_at = T + 4 * MINUTE

    assert code == codes(request(), impression(at=shown_at), callback("click", "k", shown_at + delay_ms))["click/k"]


@pytest.mark.parametrize("step", STEPS[:-1])
@pytest.mark.parametrize(
    ("delay_ms", "code"),
    [
        pytest.param(5 * MINUTE + 30 * SECOND - 1, "matched", id="just-inside"),
        pytest.param(5 * MINUTE + 30 * SECOND, "matched", id="exactly-at"),
        pytest.param(5 * MINUTE + 30 * SECOND + 1, "late_step", id="just-outside"),
    ],
)
def test_step_matches_up_to_creative_length_plus_grace(step: str, delay_ms: int, code: str) -> None:
    assert code == codes(request(), impression(at=T), callback(step, "p", T + delay_ms))[f"{step}/p"]


@pytest.mark.parametrize(
    ("received_before_ms", "code"),
    [
        pytest.param(5 * MINUTE - 1, "matched_late_request", id="just-inside"),
        pytest.param(5 * MINUTE, "matched_late_request", id="exactly-at"),
        pytest.param(5 * MINUTE + 1, "orphan_impression", id="just-outside"),
    ],
)
def test_impression_waits_five_minutes_for_a_late_request(received_before_ms: int, code: str) -> None:
    """A request that arrives after its impression still matches within the hold time."""
    late_request = request(at=T, server=T)

    assert code == codes(late_request, impression(at=T - received_before_ms))["impression/i"]


@pytest.mark.parametrize(
    ("early_ms", "server_delay_ms", "expected"),
    [
        pytest.param(2 * SECOND, 10 * MINUTE, ("matched", False), id="tolerated"),
        pytest.param(2 * SECOND + 1, MINUTE, ("matched", True), id="matched-by-collector-times"),
        pytest.param(2 * SECOND + 1, 10 * MINUTE, ("late_impression", True), id="late-by-collector-times"),
    ],
)
def test_impression_before_its_request_uses_collector_times(
    early_ms: int, server_delay_ms: int, expected: tuple[str, bool]
) -> None:
    """Two seconds of clock skew are tolerated; beyond that, collector times decide and `clock_skew` is set."""
    impression_event = impression(at=T - early_ms, server=T + server_delay_ms)

    result = next(r for r in correlate([request(), impression_event], WINDOWS) if r.kind == "impression")

    assert expected == (result.code, result.clock_skew)


def test_skewed_device_clock_stays_flagged() -> None:
    """The result keeps the `clock_skew` flag of the decoder."""
    impression_event = replace(impression(), clock_skew=True)

    assert [True] == [r.clock_skew for r in correlate([request(), impression_event], WINDOWS) if r.kind == "impression"]


def test_first_impression_of_a_slot_is_billable() -> None:
    """The earliest impression of a slot is billable; for equal times, the lowest event id decides."""
    actual = codes(request(), impression("i2", T + 5), impression("i1", T + 5), impression("i0", T + 6))

    assert ("matched", "duplicate_impression", "duplicate_impression") == (
        actual["impression/i1"],
        actual["impression/i2"],
        actual["impression/i0"],
    )


def test_impressions_of_different_slots_all_match() -> None:
    actual = codes(request(slots=("a", "b")), impression("i1", slot_id="a"), impression("i2", slot_id="b"))

    assert {"slot/a": "filled", "slot/b": "filled"} == {k: v for k, v in actual.items() if k.startswith("slot/")}
    assert ("matched", "matched") == (actual["impression/i1"], actual["impression/i2"])


def test_impression_of_an_unrequested_slot_is_invalid() -> None:
    actual = codes(request(), impression(slot_id="other"), callback("click", "k", T + 2 * SECOND))

    assert ("invalid_slot", "orphan_click", "pending") == (actual["impression/i"], actual["click/k"], actual["slot/s"])


def test_orphan_impression_does_not_fill_the_slot() -> None:
    """Only after a billable impression is the next one a duplicate."""
    actual = codes(request(), impression("early", T - 6 * MINUTE), impression("good", T + MINUTE))

    assert ("orphan_impression", "matched") == (actual["impression/early"], actual["impression/good"])


def test_repeated_event_id_is_counted_as_duplicate_event() -> None:
    """A retry of the sender adds one `duplicate_event` per copy, and changes no other result."""
    copies = [replace(impression(), src=f"topic:0:{n}") for n in range(3)]

    actual = codes(request(), *copies)

    assert {
        "request/r": "accepted",
        "slot/s": "filled",
        "impression/i": "matched",
        "duplicate_event/impression/i/1": "duplicate_event",
        "duplicate_event/impression/i/2": "duplicate_event",
    } == actual


def test_record_that_is_read_twice_is_not_a_duplicate_event() -> None:
    assert codes(request(), impression()) == codes(request(), request(), impression(), impression())


def test_second_request_is_a_duplicate_request() -> None:
    actual = codes(request("r1", T, ("a",)), request("r2", T + 1, ("b",)), impression(slot_id="b"))

    assert ("accepted", "duplicate_request", "pending", "filled", "matched") == tuple(
        actual[k] for k in ("request/r1", "request/r2", "slot/a", "slot/b", "impression/i")
    )


def test_only_the_first_click_and_step_of_an_impression_count() -> None:
    actual = codes(
        request(),
        impression(),
        callback("click", "k1", T + 2 * SECOND),
        callback("click", "k2", T + 3 * SECOND),
        callback("start", "p1", T + 2 * SECOND),
        callback("start", "p2", T + 3 * SECOND),
    )

    assert ("matched", "repeat_click", "matched", "repeat_step") == tuple(
        actual[k] for k in ("click/k1", "click/k2", "start/p1", "start/p2")
    )


@pytest.mark.parametrize("missing", STEPS[:-1])
def test_complete_without_an_earlier_step_is_partial(missing: str) -> None:
    """A `complete` step counts as sent, and missing steps are not added."""
    steps = [callback(step, step, T + 2 * SECOND) for step in STEPS if step != missing]

    assert "partial_quartiles" == codes(request(), impression(), *steps)["complete/complete"]


@pytest.mark.parametrize(
    ("impression_event", "codes_of_callbacks"),
    [
        pytest.param(impression(at=T + 6 * MINUTE), ("late_click", "late_step"), id="late-impression"),
        pytest.param(impression(at=T - 6 * MINUTE), ("orphan_click", "orphan_step"), id="orphan-impression"),
        pytest.param(impression(slot_id="x"), ("orphan_click", "orphan_step"), id="invalid-slot"),
    ],
)
def test_callbacks_of_unmatched_impression_do_not_match(
    impression_event: Event, codes_of_callbacks: tuple[str, str]
) -> None:
    """A click or playback step matches only if its impression does."""
    at = impression_event.effective_ts + SECOND

    actual = codes(request(), impression_event, callback("click", "k", at), callback("start", "p", at))

    assert codes_of_callbacks == (actual["click/k"], actual["start/p"])


def test_unmatched_results_are_pending_with_a_deadline() -> None:
    results = correlate([request("r"), callback("click", "k", T), callback("start", "p", T)], WINDOWS)

    assert {"slot": T + 5 * MINUTE, "click": T + 15 * MINUTE, "start": T + 5 * MINUTE} == {
        r.kind: r.deadline for r in results if r.code == "pending"
    }


@pytest.mark.parametrize(
    ("after_ms", "expected"),
    [
        pytest.param(-1, ("pending", "pending"), id="just-inside"),
        pytest.param(0, ("pending", "pending"), id="exactly-at"),
        pytest.param(1, ("orphan_impression", "orphan_click"), id="just-outside"),
    ],
)
def test_impression_without_request_becomes_an_orphan(after_ms: int, expected: tuple[str, str]) -> None:
    """An impression and its clicks become orphans one millisecond after the deadline of the impression."""
    shown_at = T + SECOND

    actual = codes(impression(at=shown_at), callback("click", "k", shown_at), now=shown_at + 5 * MINUTE + after_ms)

    assert expected == (actual["impression/i"], actual["click/k"])


@pytest.mark.parametrize(
    ("events", "result_id", "code"),
    [
        pytest.param([request()], "slot/s", "unfilled", id="slot"),
        pytest.param([callback("click", "k", T)], "click/k", "orphan_click", id="click"),
        pytest.param([callback("midpoint", "p", T)], "midpoint/p", "orphan_step", id="step"),
    ],
)
def test_pending_results_time_out_after_their_deadlines(events: list[Event], result_id: str, code: str) -> None:
    assert code == codes(*events, now=T + 60 * MINUTE)[result_id]


def test_timeout_version_is_between_pending_and_match() -> None:
    impression_event = impression(at=T + 5 * MINUTE)

    pending = correlate([request()], WINDOWS)
    timed_out = correlate([request()], WINDOWS, now=T + 6 * MINUTE)
    matched = correlate([request(), impression_event], WINDOWS)

    slots = [next(r for r in results if r.kind == "slot") for results in (pending, timed_out, matched)]
    assert ["pending", "unfilled", "filled"] == [slot.code for slot in slots]
    assert [2, 3, 4] == [slot.version for slot in slots]


@given(history=histories())
def test_emitted_result_never_disappears(history: list[Event]) -> None:
    """Each result keeps its id, so an upserting sink never keeps a stale row."""
    known_ids: set[str] = set()
    for count in range(1, len(history) + 1):
        ids = {result.result_id for result in correlate(history[:count], SMALL_WINDOWS)}

        assert set() == known_ids - ids
        known_ids = ids


def test_repeated_request_with_other_slots_keeps_the_slots_of_both() -> None:
    later, earlier = request(slots=("s",), at=T + 1, src="a"), request(slots=("other",), at=T, src="b")

    assert {"slot/s", "slot/other"} <= {
        result.result_id.split("/", 2)[2] for result in correlate([later, earlier], WINDOWS)
    }
