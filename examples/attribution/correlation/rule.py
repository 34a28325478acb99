"""
The correlation rule in plain Python: which impression, click and playback step belong to which request.

What arrives are the events of one transaction, in any order; what leaves is a result per slot and per record.
Real-time mode demands an answer that depends on the set of events only, never on their arrival: the SQL form in
`correlation_sql` is tested against this file.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace

from examples.attribution.events import FAMILIES, STEPS
from examples.attribution.results import BILLABLE
from examples.attribution.settings import Windows


@dataclass(frozen=True)
class Event:
    """One accepted record; (`effective_ts`, `event_id`, `src`) is the total order. Times are UTC milliseconds."""

    effective_ts: int
    event_id: str
    src: str
    """Where the record stands in Kafka, `topic:partition:offset`: the identity of one physical record."""
    kind: str
    transaction_id: str
    request_ts: int
    campaign_id: str
    server_ts: int
    appended_at: int
    """Append time of the record in its source topic."""
    clock_skew: bool = False
    """True when the device clock was too far off and `server_ts` became `effective_ts`."""
    user_key: str | None = None
    slots: tuple[str, ...] = ()
    slot_id: str | None = None
    impression_id: str | None = None
    creative_length_ms: int | None = None


@dataclass(frozen=True)
class Result:
    """What is known about one slot or one record; the highest `version` of a `result_id` is the truth."""

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
    """For `pending` only: the last moment at which the awaited event still matches."""


@dataclass(frozen=True)
class Verdict:
    """What the rule says of one event."""

    code: str
    clock_skew: bool = False
    deadline: int | None = None


Judged = list[tuple[Event, Verdict]]


def correlate(events: Iterable[Event], windows: Windows, now: int | None = None) -> list[Result]:
    """
    Return the results of one transaction; all events carry the same `transaction_id` and `request_ts`.

    With `now` (UTC milliseconds) whatever is pending past its deadline becomes `unfilled` or `orphan_*`; its version
    lies between that of the pending result and that of any result with one more record.
    """
    records = _first_per(sorted(events, key=_order), lambda event: event.src)
    firsts = _first_per(records, lambda event: (event.kind, event.event_id))
    requests = [event for event in firsts if event.kind == "request"]
    # Of every record, also of repeats with other slots: a result that has been there never vanishes.
    slots = {slot for event in records if event.kind == "request" for slot in event.slots}
    shown = [event for event in firsts if event.kind == "impression"]
    impressions = _judge_impressions(requests, slots, shown, windows)
    callbacks = [event for event in firsts if event.kind == "click" or event.kind in STEPS]
    judged = [
        *((request, Verdict("duplicate_request" if index else "accepted")) for index, request in enumerate(requests)),
        *impressions,
        *_judge_callbacks(impressions, callbacks, windows),
    ]
    results = [
        *(_result(event, f"{event.kind}/{event.event_id}", event.kind, verdict) for event, verdict in judged),
        *_judge_slots(requests, slots, impressions, windows),
        *_duplicates(records),
    ]
    version = 2 * len(records)
    if now is not None:
        results = [_timed_out(result, now) for result in results]
        version += 1
    return [replace(result, version=version) for result in results]


def _order(event: Event) -> tuple[int, str, str]:
    return event.effective_ts, event.event_id, event.src


def _first_per(events: Iterable[Event], key: Callable[[Event], Hashable]) -> list[Event]:
    firsts: dict[Hashable, Event] = {}
    for event in events:
        firsts.setdefault(key(event), event)
    return list(firsts.values())


def _judge_impressions(requests: list[Event], slots: set[str], impressions: list[Event], windows: Windows) -> Judged:
    taken: set[str | None] = set()
    judged: Judged = []
    for impression in impressions:
        if not requests:
            verdict = Verdict("pending", deadline=impression.server_ts + windows.hold_ms)
        else:
            limit_ms = windows.request_to_impression_ms
            verdict = _delay(impression, requests[0], limit_ms, windows.hold_ms, windows, "impression")
            if verdict.code == "matched":
                if impression.slot_id not in slots:
                    verdict = replace(verdict, code="invalid_slot")
                elif impression.slot_id in taken:
                    verdict = replace(verdict, code="duplicate_impression")
                elif requests[0].server_ts > impression.server_ts:
                    verdict = replace(verdict, code="matched_late_request")
        if verdict.code in BILLABLE:
            taken.add(impression.slot_id)
        judged.append((impression, verdict))
    return judged


def _judge_callbacks(impressions: Judged, callbacks: list[Event], windows: Windows) -> Judged:
    parents: dict[str | None, tuple[Event, Verdict]] = {}
    for impression, verdict in impressions:
        parents.setdefault(impression.impression_id, (impression, verdict))
    judged = [(event, _judge_callback(event, parents.get(event.impression_id), windows)) for event in callbacks]
    taken: set[tuple[str | None, str]] = set()
    for index, (event, verdict) in enumerate(judged):
        if verdict.code == "matched" and (event.impression_id, event.kind) in taken:
            judged[index] = (event, replace(verdict, code=f"repeat_{_family(event)}"))
        elif verdict.code == "matched":
            taken.add((event.impression_id, event.kind))
    return [(event, _completed(event, verdict, taken)) for event, verdict in judged]


def _judge_callback(event: Event, parent: tuple[Event, Verdict] | None, windows: Windows) -> Verdict:
    hold_ms = windows.impression_to_click_ms if event.kind == "click" else windows.playback_grace_ms
    if parent is None:
        return Verdict("pending", deadline=event.server_ts + hold_ms)
    impression, verdict = parent
    if verdict.code == "pending":
        return Verdict("pending", deadline=verdict.deadline)
    if verdict.code == "late_impression":
        return Verdict(f"late_{_family(event)}")
    if verdict.code not in BILLABLE:
        return Verdict(f"orphan_{_family(event)}")
    limit_ms = hold_ms if event.kind == "click" else hold_ms + (impression.creative_length_ms or 0)
    return _delay(event, impression, limit_ms, hold_ms, windows, _family(event))


def _delay(child: Event, parent: Event, limit_ms: int, hold_ms: int, windows: Windows, family: str) -> Verdict:
    delay_ms = child.effective_ts - parent.effective_ts
    clock_skew = delay_ms < -windows.skew_tolerance_ms
    if clock_skew:
        delay_ms = child.server_ts - parent.server_ts
    if delay_ms > limit_ms:
        return Verdict(f"late_{family}", clock_skew=clock_skew)
    if delay_ms < -hold_ms:
        return Verdict(f"orphan_{family}", clock_skew=clock_skew)
    return Verdict("matched", clock_skew=clock_skew)


def _completed(event: Event, verdict: Verdict, taken: set[tuple[str | None, str]]) -> Verdict:
    steps_before = [(event.impression_id, step) for step in STEPS[:-1]]
    if event.kind == "complete" and verdict.code == "matched" and not taken.issuperset(steps_before):
        return replace(verdict, code="partial_quartiles")
    return verdict


def _judge_slots(requests: list[Event], slots: set[str], impressions: Judged, windows: Windows) -> list[Result]:
    winners = {event.slot_id: event.impression_id for event, verdict in impressions if verdict.code in BILLABLE}
    results = []
    for slot_id in sorted(slots):
        if slot_id in winners:
            verdict = Verdict("filled")
        else:
            verdict = Verdict("pending", deadline=requests[0].effective_ts + windows.request_to_impression_ms)
        slot = replace(requests[0], slot_id=slot_id, impression_id=winners.get(slot_id))
        results.append(_result(slot, f"slot/{slot_id}", "slot", verdict))
    return results


def _duplicates(records: list[Event]) -> list[Result]:
    seen: Counter[tuple[str, str]] = Counter()
    results = []
    for event in records:
        copy = seen[event.kind, event.event_id]
        seen[event.kind, event.event_id] += 1
        if copy:
            id_tail = f"duplicate_event/{event.kind}/{event.event_id}/{copy}"
            results.append(_result(event, id_tail, event.kind, Verdict("duplicate_event")))
    return results


def _result(event: Event, id_tail: str, kind: str, verdict: Verdict) -> Result:
    return Result(
        result_id=f"{event.transaction_id}/{event.request_ts}/{id_tail}",
        version=0,
        kind=kind,
        code=verdict.code,
        transaction_id=event.transaction_id,
        request_ts=event.request_ts,
        campaign_id=event.campaign_id,
        effective_ts=event.effective_ts,
        src=event.src,
        appended_at=event.appended_at,
        clock_skew=event.clock_skew or verdict.clock_skew,
        user_key=event.user_key,
        event_id=event.event_id,
        slot_id=event.slot_id,
        impression_id=event.impression_id,
        deadline=verdict.deadline,
    )


def _timed_out(result: Result, now: int) -> Result:
    if result.deadline is None or now <= result.deadline:
        return result
    code = "unfilled" if result.kind == "slot" else f"orphan_{_family(result)}"
    return replace(result, code=code, deadline=None)


def _family(event: Event | Result) -> str:
    return event.kind if event.kind in FAMILIES else "step"
