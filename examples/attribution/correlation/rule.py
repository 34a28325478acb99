"""The correlation rule in plain Python: match impressions, clicks and playback steps to ad requests."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields, replace

from examples.attribution.correlation.windows import Windows

STEPS = ("start", "first_quartile", "midpoint", "third_quartile", "complete")
"""Playback steps in chronological order."""
FAMILIES = ("impression", "click")
"""Kinds of events with their own result codes. All playback steps share one set of codes, named `step`."""
BILLABLE = ("matched", "matched_late_request")
"""Result codes of impressions that fill their ad slots."""


@dataclass(frozen=True)
class Event:
    """One accepted record. Events are ordered by (`effective_ts`, `event_id`, `src`). Times are UTC milliseconds."""

    effective_ts: int
    event_id: str
    src: str
    """The record's position in Kafka as `topic:partition:offset`, which identifies one physical record."""
    kind: str
    transaction_id: str
    request_ts: int
    campaign_id: str
    server_ts: int
    appended_at: int
    """Append time of the record in its source topic."""
    clock_skew: bool = False
    """Whether `effective_ts` is `server_ts`, because the device's clock differed too much from the collector's."""
    user_key: str | None = None
    slots: tuple[str, ...] = ()
    slot_id: str | None = None
    impression_id: str | None = None
    creative_length_ms: int | None = None


@dataclass(frozen=True)
class Result:
    """The result for one ad slot or one record. For each `result_id`, only the highest version is valid."""

    result_id: str
    version: int
    kind: str
    code: str
    transaction_id: str
    request_ts: int
    campaign_id: str
    effective_ts: int
    src: str
    appended_at: int
    clock_skew: bool
    user_key: str | None = None
    event_id: str | None = None
    slot_id: str | None = None
    impression_id: str | None = None
    deadline: int | None = None
    """The latest time at which the missing event still matches. Only `pending` results have a deadline."""


HISTORY = tuple(field.name for field in fields(Event))
"""The names of the stored fields. `array_sort` compares field by field, so the first three fields order the events."""
COPIED_FIELDS = {field.name for field in fields(Event)} & {field.name for field in fields(Result)} - {
    "kind",
    "clock_skew",
}
"""Fields that a result copies from its event."""


@dataclass(frozen=True)
class Match:
    """
    The outcome for one event: the result code, and whether the event shows clock skew against its parent event.

    While the code can still change, the outcome also contains the deadline for a change.
    """

    code: str
    clock_skew: bool = False
    deadline: int | None = None


Matches = list[tuple[Event, Match]]


def correlate(events: Iterable[Event], windows: Windows, now: int | None = None) -> list[Result]:
    """
    Return the results of one transaction. All events must have the same `transaction_id` and `request_ts`.

    Only the first `windows.max_events` distinct records in `events` are correlated. Each further record gets its own
    result with the code `too_many_events`, and changes no other result.

    If `now` (UTC milliseconds) is given, pending results whose deadline has passed time out: they become `unfilled` or
    `orphan_*`. The version of a timeout is odd, higher than that of the pending result, and lower than that of any
    result that includes one more record of the transaction.
    """
    arrived = distinct(events)
    records = sorted(arrived[: windows.max_events], key=_order)
    firsts = _first_per(records, lambda event: (event.kind, event.event_id))
    requests = [event for event in firsts if event.kind == "request"]
    # Use the ad slots of all requests, including repeated requests with different ad slots. Otherwise a new request
    # could remove an ad slot whose result has already been emitted.
    slots = {slot for event in records if event.kind == "request" for slot in event.slots}
    impression_events = [event for event in firsts if event.kind == "impression"]
    impressions = _match_impressions(requests, slots, impression_events, windows)
    callbacks = [event for event in firsts if event.kind == "click" or event.kind in STEPS]
    matches = [
        *((request, Match("duplicate_request" if index else "accepted")) for index, request in enumerate(requests)),
        *impressions,
        *_match_callbacks(impressions, callbacks, windows),
    ]
    results = [
        *(_result(event, f"{event.kind}/{event.event_id}", event.kind, match) for event, match in matches),
        *_match_slots(requests, slots, impressions, windows),
        *_duplicates(records),
        *too_many_events(arrived[windows.max_events :], windows),
    ]
    results = [replace(result, version=2 * len(records)) for result in results]
    return results if now is None else [_timed_out(result, now) for result in results]


def distinct(events: Iterable[Event]) -> list[Event]:
    """Return the first copy of each record, in the given order."""
    return _first_per(events, lambda event: event.src)


def too_many_events(excess: Iterable[Event], windows: Windows) -> list[Result]:
    """Return the results of records beyond the maximum number of events. These results never change."""
    match, version = Match("too_many_events"), 2 * windows.max_events
    results = [_result(event, f"too_many_events/{event.src}", event.kind, match) for event in excess]
    return [replace(result, version=version) for result in results]


def _order(event: Event) -> tuple[int, str, str]:
    return event.effective_ts, event.event_id, event.src


def _first_per(events: Iterable[Event], key: Callable[[Event], Hashable]) -> list[Event]:
    firsts: dict[Hashable, Event] = {}
    for event in events:
        firsts.setdefault(key(event), event)
    return list(firsts.values())


def _match_impressions(requests: list[Event], slots: set[str], impressions: list[Event], windows: Windows) -> Matches:
    filled_slots: set[str | None] = set()
    matches: Matches = []
    for impression in impressions:
        if not requests:
            match = Match("pending", deadline=impression.server_ts + windows.hold_ms)
        else:
            limit_ms = windows.request_to_impression_ms
            match = _match_in_window(impression, requests[0], limit_ms, windows.hold_ms, windows, "impression")
            if match.code == "matched":
                if impression.slot_id not in slots:
                    match = replace(match, code="invalid_slot")
                elif impression.slot_id in filled_slots:
                    match = replace(match, code="duplicate_impression")
                elif requests[0].server_ts > impression.server_ts:
                    match = replace(match, code="matched_late_request")
        if match.code in BILLABLE:
            filled_slots.add(impression.slot_id)
        matches.append((impression, match))
    return matches


def _match_callbacks(impressions: Matches, callbacks: list[Event], windows: Windows) -> Matches:
    parents: dict[str | None, tuple[Event, Match]] = {}
    for impression, match in impressions:
        parents.setdefault(impression.impression_id, (impression, match))
    matches = [(event, _match_callback(event, parents.get(event.impression_id), windows)) for event in callbacks]
    matched_kinds: set[tuple[str | None, str]] = set()
    for index, (event, match) in enumerate(matches):
        if match.code == "matched" and (event.impression_id, event.kind) in matched_kinds:
            matches[index] = (event, replace(match, code=f"repeat_{_family(event)}"))
        elif match.code == "matched":
            matched_kinds.add((event.impression_id, event.kind))
    return [(event, _match_complete(event, match, matched_kinds)) for event, match in matches]


def _match_callback(event: Event, parent: tuple[Event, Match] | None, windows: Windows) -> Match:
    hold_ms = windows.impression_to_click_ms if event.kind == "click" else windows.playback_grace_ms
    if parent is None:
        return Match("pending", deadline=event.server_ts + hold_ms)
    impression, match = parent
    if match.code == "pending":
        return Match("pending", deadline=match.deadline)
    if match.code == "late_impression":
        return Match(f"late_{_family(event)}")
    if match.code not in BILLABLE:
        return Match(f"orphan_{_family(event)}")
    limit_ms = hold_ms if event.kind == "click" else hold_ms + (impression.creative_length_ms or 0)
    return _match_in_window(event, impression, limit_ms, hold_ms, windows, _family(event))


def _match_in_window(child: Event, parent: Event, limit_ms: int, hold_ms: int, windows: Windows, family: str) -> Match:
    delay_ms = child.effective_ts - parent.effective_ts
    clock_skew = delay_ms < -windows.skew_tolerance_ms
    if clock_skew:
        delay_ms = child.server_ts - parent.server_ts
    if delay_ms > limit_ms:
        return Match(f"late_{family}", clock_skew=clock_skew)
    if delay_ms < -hold_ms:
        return Match(f"orphan_{family}", clock_skew=clock_skew)
    return Match("matched", clock_skew=clock_skew)


def _match_complete(event: Event, match: Match, matched_kinds: set[tuple[str | None, str]]) -> Match:
    earlier_steps = [(event.impression_id, step) for step in STEPS[:-1]]
    if event.kind == "complete" and match.code == "matched" and not matched_kinds.issuperset(earlier_steps):
        return replace(match, code="partial_quartiles")
    return match


def _match_slots(requests: list[Event], slots: set[str], impressions: Matches, windows: Windows) -> list[Result]:
    winners = {event.slot_id: event.impression_id for event, match in impressions if match.code in BILLABLE}
    results = []
    for slot_id in sorted(slots):
        if slot_id in winners:
            match = Match("filled")
        else:
            match = Match("pending", deadline=requests[0].effective_ts + windows.request_to_impression_ms)
        slot = replace(requests[0], slot_id=slot_id, impression_id=winners.get(slot_id))
        results.append(_result(slot, f"slot/{slot_id}", "slot", match))
    return results


def _duplicates(records: list[Event]) -> list[Result]:
    copies: Counter[tuple[str, str]] = Counter()
    results = []
    for event in records:
        earlier_copies = copies[event.kind, event.event_id]
        copies[event.kind, event.event_id] += 1
        if earlier_copies:
            id_tail = f"duplicate_event/{event.kind}/{event.event_id}/{earlier_copies}"
            results.append(_result(event, id_tail, event.kind, Match("duplicate_event")))
    return results


def _result(event: Event, id_tail: str, kind: str, match: Match) -> Result:
    return Result(
        **{name: getattr(event, name) for name in COPIED_FIELDS},
        result_id=f"{event.transaction_id}/{event.request_ts}/{id_tail}",
        version=0,
        kind=kind,
        code=match.code,
        clock_skew=event.clock_skew or match.clock_skew,
        deadline=match.deadline,
    )


def _timed_out(result: Result, now: int) -> Result:
    if result.deadline is None or now <= result.deadline:
        return result
    code = "unfilled" if result.kind == "slot" else f"orphan_{_family(result)}"
    return replace(result, code=code, version=result.version + 1, deadline=None)


def _family(event: Event | Result) -> str:
    return event.kind if event.kind in FAMILIES else "step"
