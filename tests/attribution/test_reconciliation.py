"""Reconciliation notices every kind of fault, and counts every record."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from examples.attribution.ledger import Ledger, SourceRecord
from examples.attribution.reconciliation import reconcile, replay
from examples.settings import Settings

WINDOWS = Settings().windows
T = 1_700_000_000_000


def value(kind: str, event_id: str, **fields: Any) -> bytes:
    """Return a source record of transaction t at time T."""
    common = {"transaction_id": "t", "request_ts": T, "campaign_id": "c", "event_ts": T, "server_ts": T}
    return json.dumps({"event_id": event_id, "kind": kind, **common, **fields}).encode()


def sources() -> dict[str, SourceRecord]:
    """Return a request, its impression, a copy of that, a conversion and a malformed record."""
    shown = value("impression", "i", slot_id="s", impression_id="x", creative_length_ms=1)
    order = value("conversion", "v", order_id="o", advertiser_id="a", value_micros=1)
    rows = {
        "ad-requests:0:000000000000": (value("request", "r", slots=["s", "open"]), "normal"),
        "ad-impressions:0:000000000000": (shown, "normal"),
        "ad-impressions:0:000000000001": (shown, "duplicate"),
        "ad-callbacks:1:000000000000": (order, "normal"),
        "ad-callbacks:1:000000000001": (b"{bad", "malformed"),
    }
    return {src: SourceRecord(raw, label, T, T + 1) for src, (raw, label) in rows.items()}


def good_ledger() -> Ledger:
    """Return the books of a run without fault."""
    ledger = Ledger()
    for src, record in sources().items():
        ledger.add_source(src, record)
        if record.label == "malformed":
            ledger.add_reject(src, "not_json", record.value)
        else:
            ledger.add_event({"src": src, "kind": json.loads(record.value or b"")["kind"]}, 0, T + 2)
    for result in replay(ledger, WINDOWS).values():
        ledger.add_result({k: v for k, v in asdict(result).items() if v is not None}, T + 3)
    return ledger


def test_a_run_without_fault_reconciles_and_accounts_for_every_record() -> None:
    """What came in equals what became of it, in every family; what still waits is openly pending."""
    outcome = reconcile(good_ledger(), WINDOWS, good_ledger().results)

    assert [] == outcome.differences
    assert 5 == outcome.results
    assert {
        "source records": {"in": 5, "events": 4, "rejected": 1},
        "requests": {"in": 1, "accepted": 1},
        "slots": {"in": 2, "filled": 1, "pending": 1},
        "impressions": {"in": 2, "matched": 1, "duplicate_event": 1},
        "clicks": {},
        "playback steps": {},
        "conversions": {"in": 1, "pending": 1},
    } == {family: {k: v for k, v in codes.items() if v} for family, codes in outcome.counts.items()}


SLOT = f"t/{T}/slot/s"
REQUEST, CONVERSION, BAD = "ad-requests:0:000000000000", "ad-callbacks:1:000000000000", "ad-callbacks:1:000000000001"


def reject_the_conversion(ledger: Ledger) -> None:
    """Route a good record to the rejects."""
    ledger.events.pop(CONVERSION)
    ledger.add_reject(CONVERSION, "bad", sources()[CONVERSION].value)


def accept_the_malformed(ledger: Ledger) -> None:
    """Route the malformed record to the events."""
    ledger.rejects.clear()
    ledger.add_event({"src": BAD, "kind": "click"}, 0, T)


FAULTS: dict[str, tuple[Callable[[Ledger], object], str]] = {
    "lost-record": (lambda x: x.events.pop(REQUEST), f"{REQUEST} is lost"),
    "lost-reject": (lambda x: x.rejects.clear(), f"{BAD} is lost"),
    "two-routes": (
        lambda x: x.rejects.update({REQUEST: ("why", sources()[REQUEST].value)}),
        "in events and in ad-rejected",
    ),
    "invented-record": (lambda x: x.rejects.update({"nowhere:0:1": ("why", b"")}), "nowhere:0:1 was never sent"),
    "changed-raw-bytes": (
        lambda x: x.rejects.update({BAD: ("not_json", b"{worse")}),
        "its raw bytes changed",
    ),
    "good-record-rejected": (
        reject_the_conversion,
        f"{CONVERSION} is normal, but was rejected as bad",
    ),
    "malformed-record-accepted": (
        accept_the_malformed,
        f"{BAD} is malformed, but was accepted",
    ),
    "missing-result": (lambda x: x.results.pop(SLOT), f"{SLOT} is missing; the rule says filled"),
    "wrong-code": (
        lambda x: x.results.update({SLOT: {**x.results[SLOT], "code": "pending"}}),
        f"{SLOT} differs: code is 'pending' instead of 'filled'",
    ),
    "wrong-deadline": (
        lambda x: x.results.update({SLOT: {**x.results[SLOT], "deadline": 1}}),
        "deadline is 1 instead of None",
    ),
    "result-without-cause": (
        lambda x: x.results.update({"other": {**x.results[SLOT], "result_id": "other"}}),
        "result other has no cause",
    ),
    "one-version-two-contents": (
        lambda x: x.add_result({**x.results[SLOT], "code": "pending"}, T),
        f"{SLOT} came twice with one version and two contents",
    ),
    "counted-twice": (
        lambda x: x.results.update({"other": {**x.results[SLOT], "result_id": "other"}}),
        "slots: 2 came in, but 3 are accounted for",
    ),
}


@pytest.mark.parametrize(("inject", "message"), FAULTS.values(), ids=FAULTS)
def test_every_fault_is_noticed_and_named(inject: Callable[[Ledger], object], message: str) -> None:
    """Each check can fail, and its message names the record or result."""
    ledger = good_ledger()

    inject(ledger)

    assert [] != [text for text in reconcile(ledger, WINDOWS, good_ledger().results).differences if message in text]


STORED_FAULTS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "missing-row": (lambda rows: rows.pop(SLOT), f"row {SLOT} is missing; the rule says filled"),
    "old-row": (
        lambda rows: rows.update({SLOT: {**rows[SLOT], "code": "pending"}}),
        f"row {SLOT} differs: code is 'pending' instead of 'filled'",
    ),
    "invented-row": (lambda rows: rows.update(other={}), "row other has no cause"),
}


@pytest.mark.parametrize(("inject", "message"), STORED_FAULTS.values(), ids=STORED_FAULTS)
def test_every_fault_of_the_table_is_noticed_and_named(
    inject: Callable[[dict[str, Any]], object], message: str
) -> None:
    """A table that lags, forgets or invents is a difference, although the topics are right."""
    rows = good_ledger().results

    inject(rows)

    assert [message] == reconcile(good_ledger(), WINDOWS, rows).differences


def test_an_expired_record_is_no_fault_of_the_decoder() -> None:
    """After an outage longer than all windows, good records are rejected as expired; that is counted, not lost."""
    ledger, src = good_ledger(), "ad-callbacks:1:000000000000"
    ledger.events.pop(src)

    ledger.add_reject(src, "expired:server_ts", ledger.sources[src].value)

    assert [] == reconcile(ledger, WINDOWS, good_ledger().results).differences


def test_waiting_counts_what_a_stage_has_not_answered_in_any_order_of_reading() -> None:
    """The lag of a stage rises with its input and falls with its output, whichever is read first."""
    src = "ad-requests:0:000000000000"
    steps: list[Callable[[Ledger], None]] = [
        lambda x: x.add_source(src, sources()[src]),
        lambda x: x.add_event({"src": src, "kind": "request"}, 1, T),
        lambda x: x.add_result({"src": src, "result_id": "a", "kind": "request", "version": 2}, T),
    ]
    forward, backward = Ledger(), Ledger()

    lags = []
    for step in steps:
        step(forward)
        lags.append({place: n for place, n in forward.waiting.items() if n})
    for step in reversed(steps):
        step(backward)

    assert [{"kafka_to_events ad-requests:0": 1}, {"events_to_attributed events:1": 1}, {}] == lags
    assert {} == {place: n for place, n in backward.waiting.items() if n}


def test_the_newest_version_counts_whatever_comes_last() -> None:
    """A replayed older version neither wins nor counts as a contradiction."""
    ledger = Ledger()
    for version in (4, 2, 4):
        ledger.add_result({"src": "s", "result_id": "a", "kind": "slot", "version": version, "code": str(version)}, T)

    assert "4" == ledger.results["a"]["code"]
    assert {"ad-attributed": 1} == dict(ledger.delivered_again)
    assert [] == ledger.contradictions
