"""Reconciliation notices every kind of fault, and counts every record."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from examples.attribution.audit.pacing import standings
from examples.attribution.audit.reconciliation import Reconciliation, reconcile
from examples.attribution.audit.replay import orders, replay
from examples.attribution.audit.run_log import Books, SourceRecord
from examples.attribution.credit.models import CreditRules
from examples.attribution.pacing.rule import Goal, count_slots
from examples.attribution.settings import Settings

SETTINGS = Settings()
WINDOWS = SETTINGS.windows
RULES = CreditRules()
T = 1_700_000_000_000


def value(kind: str, event_id: str, **fields: Any) -> bytes:
    """Return a source record of transaction t at time T."""
    common = {"transaction_id": "t", "request_ts": T, "campaign_id": "c", "event_ts": T, "server_ts": T}
    return json.dumps({"event_id": event_id, "kind": kind, **common, **fields}).encode()


def sources() -> dict[str, SourceRecord]:
    """Return a request, its impression, a copy of that, its click, an order, a copy of that, and a malformed record."""
    shown = value("impression", "i", slot_id="s", impression_id="x", creative_length_ms=1)
    clicked = value("click", "k", impression_id="x", user_key="u")
    order = value("conversion", "v", order_id="o", advertiser_id="a", value_micros=7, user_key="u")
    rows = {
        "ad-requests:0:000000000000": (value("request", "r", slots=["s", "open"]), "normal"),
        "ad-impressions:0:000000000000": (shown, "normal"),
        "ad-impressions:0:000000000001": (shown, "duplicate"),
        "ad-callbacks:1:000000000000": (order, "normal"),
        "ad-callbacks:1:000000000001": (b"{bad", "malformed"),
        "ad-callbacks:1:000000000002": (clicked, "normal"),
        "ad-callbacks:1:000000000003": (order, "duplicate"),
    }
    return {src: SourceRecord(raw, label, T, T + 1) for src, (raw, label) in rows.items()}


def good_books(*, expired: str = "") -> Books:
    """Return the books of a run without fault; one record may come after all windows."""
    books = Books()
    for src, record in sources().items():
        books.add_source(src, record)
        if record.label == "malformed":
            books.add_reject(src, "not_json", record.value)
        elif src == expired:
            books.add_reject(src, "expired:server_ts", record.value)
        else:
            books.add_event({**json.loads(record.value or b""), "src": src}, 0, T + 2)
    expected = replay(books, WINDOWS)
    for result in expected.values():
        books.add_result({k: v for k, v in asdict(result).items() if v is not None}, T + 3)
    for count in count_slots(expected.values(), SETTINGS):
        books.add_count({**asdict(count), "result_id": count.result_id})
    for order in orders(books, WINDOWS, RULES.scaled(SETTINGS.time_scale)).values():
        assert order.expected
        answer = asdict(order.expected)
        books.add_credit({**answer, "credits": list(answer["credits"])})
    return books


def outcome_of(books: Books, stored: dict[str, dict[str, Any]] | None = None) -> Reconciliation:
    """Return the reconciliation of the books; the table is right unless one is given."""
    rows = good_books().results if stored is None else stored
    return reconcile(books, SETTINGS, RULES, [Goal("c", 1, T, T + 1000)], rows)


def test_a_run_without_fault_reconciles_and_accounts_for_every_record() -> None:
    """What came in equals what became of it, in every family; nothing is pending."""
    outcome = outcome_of(good_books())

    assert [] == outcome.differences
    assert 6 == outcome.results
    assert {
        "source records": {"in": 7, "events": 6, "rejected": 1},
        "requests": {"in": 1, "accepted": 1},
        "slots": {"in": 2, "filled": 1, "unfilled": 1},
        "impressions": {"in": 2, "matched": 1, "duplicate_event": 1},
        "clicks": {"in": 1, "matched": 1},
        "playback steps": {},
        "conversions": {"in": 2, "attributed": 1, "duplicate": 1},
    } == {family: {k: v for k, v in codes.items() if v} for family, codes in outcome.counts.items()}


SLOT = f"t/{T}/slot/s"
OPEN_SLOT = f"t/{T}/slot/open"
ORDER = "u/a/o"
REQUEST, CONVERSION, BAD = "ad-requests:0:000000000000", "ad-callbacks:1:000000000000", "ad-callbacks:1:000000000001"


def reject_the_conversion(books: Books) -> None:
    """Route a good record to the rejects."""
    books.events.pop(CONVERSION)
    books.add_reject(CONVERSION, "bad", sources()[CONVERSION].value)


def accept_the_malformed(books: Books) -> None:
    """Route the malformed record to the events."""
    books.rejects.clear()
    books.add_event({"src": BAD, "kind": "click"}, 0, T)


def change(newest: dict[str, dict[str, Any]], **fields: Any) -> None:
    """Give the first row other contents."""
    name = next(iter(newest))
    newest[name] = {**newest[name], **fields}


FAULTS: dict[str, tuple[Callable[[Books], object], str]] = {
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
    "still-pending": (
        lambda x: x.results.update({OPEN_SLOT: {**x.results[OPEN_SLOT], "code": "pending"}}),
        f"{OPEN_SLOT} differs: code is 'pending' instead of 'unfilled'",
    ),
    "order-without-answer": (lambda x: x.credits.clear(), f"{ORDER} is missing; 2 conversions have no answer"),
    "answer-not-final": (lambda x: change(x.credits, final=False), f"{ORDER} is not final"),
    "unfair-credit": (
        lambda x: change(x.credits, credits=[{**x.credits[ORDER]["credits"][0], "credit_millionths": 999_999}]),
        "attributed, but its credit_millionths add up to 999999 instead of 1000000",
    ),
    "lost-money": (
        lambda x: change(x.credits, credits=[{**x.credits[ORDER]["credits"][0], "value_micros": 6}]),
        "attributed, but its value_micros add up to 6 instead of 7",
    ),
    "credit-of-the-unattributed": (
        lambda x: change(x.credits, code="unattributed"),
        "unattributed, but its value_micros add up to 7 instead of 0",
    ),
    "wrong-value": (lambda x: change(x.credits, value_micros=8), f"{ORDER} differs: value_micros is 8 instead of 7"),
    "conversion-lost": (
        lambda x: change(x.credits, records=1),
        "conversions: 2 came in, but 1 are accounted for",
    ),
    "invented-order": (
        lambda x: x.add_credit({**x.credits[ORDER], "result_id": "other/a/o"}),
        "credit other/a/o has no conversion",
    ),
    "count-missing": (lambda x: x.counts.clear(), "is missing; the replay says slots 2, delivered 1, reserved 0"),
    "count-too-high": (
        lambda x: change(x.counts, delivered=2),
        "differs: slots 2, delivered 2, reserved 0 instead of slots 2, delivered 1, reserved 0",
    ),
    "still-reserved": (lambda x: change(x.counts, reserved=1), "reserved 1 instead of"),
    "invented-count": (
        lambda x: x.counts.update(other=next(iter(x.counts.values()))),
        "count other has no cause",
    ),
}


@pytest.mark.parametrize(("inject", "message"), FAULTS.values(), ids=FAULTS)
def test_every_fault_is_noticed_and_named(inject: Callable[[Books], object], message: str) -> None:
    """Each check can fail, and its message names the record or result."""
    books = good_books()

    inject(books)

    assert [] != [text for text in outcome_of(books).differences if message in text]


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
    rows = good_books().results

    inject(rows)

    assert [message] == outcome_of(good_books(), rows).differences


def test_an_expired_record_is_no_fault_of_the_decoder() -> None:
    """After an outage longer than all windows, good records are rejected as expired; that is counted, not lost."""
    books = good_books(expired="ad-callbacks:1:000000000000")

    outcome = outcome_of(books)

    assert [] == outcome.differences
    assert {"in": 7, "events": 5, "rejected": 2} == outcome.counts["source records"]


def test_waiting_counts_what_a_stage_has_not_answered_in_any_order_of_reading() -> None:
    """The lag of a stage rises with its input and falls with its output, whichever is read first."""
    src = "ad-requests:0:000000000000"
    steps: list[Callable[[Books], None]] = [
        lambda x: x.add_source(src, sources()[src]),
        lambda x: x.add_event({"src": src, "kind": "request"}, 1, T),
        lambda x: x.add_result({"src": src, "result_id": "a", "kind": "request", "code": "accepted", "version": 2}, T),
    ]
    forward, backward = Books(), Books()

    lags = []
    for step in steps:
        step(forward)
        lags.append({place: n for place, n in forward.waiting.items() if n})
    for step in reversed(steps):
        step(backward)

    assert [{"kafka_to_events ad-requests:0": 1}, {"events_to_attributed events:1": 1}, {}] == lags
    assert {} == {place: n for place, n in backward.waiting.items() if n}


def test_a_run_is_settled_when_nothing_is_pending_open_or_reserved() -> None:
    """Each kind of answer that may still change keeps the run waiting, until its newest version is there."""
    books = good_books()
    settled = (len(books.pending), books.open_orders(), books.is_counted())
    slot, count = books.results[OPEN_SLOT], next(iter(books.counts.values()))

    books.add_result({**slot, "code": "pending", "version": 1}, T)
    books.add_credit({**books.credits[ORDER], "final": False, "version": 1})
    books.add_count({**count, "reserved": 1, "version": 1})
    waiting = (len(books.pending), books.open_orders(), books.is_counted())
    books.add_result({**slot, "version": 2}, T)
    books.add_credit({**books.credits[ORDER], "final": True, "version": 2})
    books.add_count({**count, "version": 2})

    assert (0, 0, True) == settled == (len(books.pending), books.open_orders(), books.is_counted())
    assert (1, 1, False) == waiting


def test_a_touch_counts_from_the_first_time_that_it_was_stored() -> None:
    """A restarted query may write a version twice; in whatever order the two are read, the earlier time counts."""
    click = {**good_books().results[f"t/{T}/click/k"], "version": 2}
    forward, backward = Books(), Books()

    for appended_at in (T, T + 5):
        forward.add_result(click, appended_at)
    for appended_at in (T + 5, T):
        backward.add_result(click, appended_at)

    assert [T] == [touch.stored_at for touch in forward.touches["u"].values()]
    assert forward.touches == backward.touches


def test_the_newest_version_counts_whatever_comes_last() -> None:
    """A replayed older version neither wins nor counts as a contradiction."""
    books = Books()
    for version in (4, 2, 4):
        books.add_result({"src": "s", "result_id": "a", "kind": "slot", "version": version, "code": str(version)}, T)

    assert "4" == books.results["a"]["code"]
    assert {"ad-attributed": 1} == dict(books.delivered_again)
    assert [] == books.contradictions


def test_an_order_that_was_there_when_its_user_was_erased_is_counted_but_not_compared() -> None:
    """What was known at that moment decides, so another answer is no fault; that it adds up is still checked."""
    books = good_books()
    books.add_erasure("u", T + 2)
    answer = books.credits[ORDER]

    books.credits[ORDER] = {**answer, "code": "unattributed", "credits": [], "records": 1}
    books.credits[f"{ORDER}/{T + 2}"] = {**books.credits[ORDER], "result_id": f"{ORDER}/{T + 2}"}
    split = outcome_of(books)
    books.credits[ORDER] = {**answer, "records": 2}
    wrong = outcome_of(books)

    assert [] == split.differences
    assert (0, 1) == (split.credits.compared, split.credits.erased)
    assert {"in": 2, "unattributed": 2, "duplicate": 0} == split.counts["conversions"]
    assert [
        f"credit {ORDER} knows 3 conversions instead of 2",
        "conversions: 2 came in, but 3 are accounted for",
    ] == wrong.differences


def test_an_order_after_an_erasure_earns_nothing_for_touches_before_it() -> None:
    """The rule forgets the touches that the stream had to forget, and finds an answer that did not."""
    books = good_books()
    for src in (CONVERSION, "ad-callbacks:1:000000000003"):
        books.events[src] = replace(books.events[src], appended_at=T + 5)
    books.add_erasure("u", T + 4)
    answer = {**books.credits.pop(ORDER), "result_id": f"{ORDER}/{T + 4}"}

    books.add_credit(answer)
    wrong = outcome_of(books)
    books.add_credit({**answer, "version": 2, "code": "unattributed", "credits": []})
    right = outcome_of(books)

    assert 1 == len(wrong.differences)
    assert f"credit {ORDER}/{T + 4} differs: code is 'attributed' instead of 'unattributed'" in wrong.differences[0]
    assert ([], 1, 0) == (right.differences, right.credits.compared, books.open_orders())


def test_a_touch_that_was_stored_too_late_is_counted_and_earns_nothing() -> None:
    """Lateness is read from append times, so the replay knows it as well as the stream did."""
    books = good_books()
    in_time = next(iter(books.touches["u"].values()))
    books.touches["u"]["late", 2] = replace(in_time, result_id="late", event_id="late", stored_at=T + 20_000)

    before = outcome_of(books).differences
    change(books.credits, late_touches=1)

    assert [f"credit {ORDER} differs: late_touches is 0 instead of 1"] == before
    assert ([], 1) == (outcome_of(books).differences, outcome_of(books).credits.late_touches)


def test_over_delivery_is_what_the_replay_delivered_beyond_each_goal() -> None:
    """A campaign that stayed below its goal does not make up for another's excess, nor do unfilled slots."""
    slot, unfilled = (replay(good_books(), WINDOWS)[name] for name in (SLOT, OPEN_SLOT))
    filled = [replace(slot, result_id=f"{n}", campaign_id="c") for n in range(3)]
    below = [replace(slot, result_id="below", campaign_id="below"), replace(unfilled, campaign_id="c")]

    found = standings([*filled, *below], [Goal("c", 1, T, T + 10), Goal("below", 5, T, T + 10)], SETTINGS)

    assert [(3, 0, 2), (1, 0, 0)] == [(x.pacing.delivered, x.pacing.reserved, x.over_delivered) for x in found]
