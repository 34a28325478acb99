import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest

from examples.attribution.audit.reconciliation import Reconciliation, reconcile
from examples.attribution.audit.replay import replay_orders, replay_results
from examples.attribution.audit.run_log import RunLog, SourceRecord
from examples.attribution.credit.models import CreditRules
from examples.attribution.pacing.rule import Goal, count_slots
from examples.attribution.settings import DemoSettings

SETTINGS = DemoSettings()
WINDOWS = SETTINGS.windows
RULES = CreditRules()
T = 1_700_000_000_000


def value(kind: str, event_id: str, **fields: Any) -> bytes:
    common = {"transaction_id": "t", "request_ts": T, "campaign_id": "c", "event_ts": T, "server_ts": T}
    return json.dumps({"event_id": event_id, "kind": kind, **common, **fields}).encode()


def sources() -> dict[str, SourceRecord]:
    impression = value("impression", "i", slot_id="s", impression_id="x", creative_length_ms=1)
    click = value("click", "k", impression_id="x", user_key="u")
    order = value("conversion", "v", order_id="o", advertiser_id="a", value_micros=7, user_key="u")
    rows = {
        "ad-requests:0:000000000000": (value("request", "r", slots=["s", "open"]), "normal"),
        "ad-impressions:0:000000000000": (impression, "normal"),
        "ad-impressions:0:000000000001": (impression, "duplicate"),
        "ad-callbacks:1:000000000000": (order, "normal"),
        "ad-callbacks:1:000000000001": (b"{bad", "malformed"),
        "ad-callbacks:1:000000000002": (click, "normal"),
        "ad-callbacks:1:000000000003": (order, "duplicate"),
    }
    return {src: SourceRecord(raw, label, T, T + 1) for src, (raw, label) in rows.items()}


def good_log(*, expired: str = "") -> RunLog:
    """Return the log of a correct run; the record at position `expired` arrives after all windows and is rejected."""
    log = RunLog()
    for src, record in sources().items():
        log.record_source(src, record)
        if record.label == "malformed":
            log.record_reject(src, "not_json", record.value)
        elif src == expired:
            log.record_reject(src, "expired:server_ts", record.value)
        else:
            log.record_event({**json.loads(record.value or b""), "src": src}, T + 2)
    expected = replay_results(log, WINDOWS)
    for result in expected.values():
        log.record_result({k: v for k, v in asdict(result).items() if v is not None}, T + 3)
    for count in count_slots(expected.values(), SETTINGS):
        log.record_count({**asdict(count), "result_id": count.result_id})
    for _, order in replay_orders(log, WINDOWS, RULES.scaled(SETTINGS.time_scale)).values():
        assert order
        log.record_credit(order.document(), T + 4)
    return log


def outcome_of(log: RunLog, stored: dict[str, Any] | None = None, settings: DemoSettings = SETTINGS) -> Reconciliation:
    """Return the reconciliation of a log with the rows `stored` in the table, by default the rows of a correct run."""
    rows = good_log().results if stored is None else stored
    goals = [Goal(name, 1, T, T + 1000) for name in ("c", "other")]
    return reconcile(log, settings, RULES, goals, rows)


def test_correct_run_reconciles_and_counts_every_record() -> None:
    outcome = outcome_of(good_log())

    assert [] == outcome.differences
    assert 6 == outcome.results
    assert [("c", 1), ("other", 0)] == [(each.goal.campaign_id, each.delivered) for each in outcome.campaigns]
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


def reject_the_conversion(log: RunLog) -> None:
    log.events.pop(CONVERSION)
    log.record_reject(CONVERSION, "bad", sources()[CONVERSION].value)


def accept_the_malformed(log: RunLog) -> None:
    log.rejects.clear()
    log.record_event({"src": BAD, "kind": "click"}, T)


def change(newest: dict[str, dict[str, Any]], result_id: str = "", **fields: Any) -> None:
    """Change the result with this id, or the first one."""
    result_id = result_id or next(iter(newest))
    newest[result_id] = {**newest[result_id], **fields}


FAULTS: dict[str, tuple[Callable[[RunLog], object], str]] = {
    "lost-record": (lambda x: x.events.pop(REQUEST), f"{REQUEST} is in neither events nor ad-rejected"),
    "two-routes": (
        lambda x: x.rejects.update({REQUEST: ("why", sources()[REQUEST].value)}),
        f"{REQUEST} is in both events and ad-rejected",
    ),
    "invented-record": (
        lambda x: x.rejects.update({"nowhere:0:1": ("why", b"")}),
        "nowhere:0:1 is not in a source topic",
    ),
    "unreadable-record": (
        lambda x: x.unreadable.append("ad-credits:0:1"),
        "record ad-credits:0:1 was not written by the pipeline",
    ),
    "changed-raw-bytes": (
        lambda x: x.rejects.update({BAD: ("not_json", b"{worse")}),
        f"{BAD} was rejected as 'not_json', but its raw bytes differ from the source record",
    ),
    "valid-record-rejected": (reject_the_conversion, f"{CONVERSION} is labeled 'normal', but was rejected as 'bad'"),
    "malformed-record-accepted": (accept_the_malformed, f"{BAD} is labeled 'malformed', but was accepted"),
    "missing-result": (lambda x: x.results.pop(SLOT), f"{SLOT} is missing; expected code 'filled'"),
    "wrong-deadline": (lambda x: change(x.results, SLOT, deadline=1), "deadline is 1 instead of None"),
    "invented-result": (
        lambda x: x.results.update({"other": {**x.results[SLOT], "result_id": "other"}}),
        "result other is not in the replay",
    ),
    "same-version-different-content": (
        lambda x: x.record_result({**x.results[SLOT], "code": "pending"}, T),
        f"{SLOT} was written twice with the same version but different content",
    ),
    "order-without-credit": (lambda x: x.credits.clear(), f"{ORDER} is missing for an order with 2 conversions"),
    "credit-not-final": (lambda x: change(x.credits, final=False), f"{ORDER} is not final"),
    "wrong-shares": (
        lambda x: change(x.credits, credits=[{**x.credits[ORDER]["credits"][0], "credit_millionths": 999_999}]),
        f"{ORDER} differs: credits is [",
    ),
    "conversion-lost": (
        lambda x: change(x.credits, records=1),
        "conversions: input is 2, but the outcomes add up to 1",
    ),
    "invented-order": (
        lambda x: x.record_credit({**x.credits[ORDER], "result_id": "other/a/o"}, T),
        "credit other/a/o has no conversion in the replay",
    ),
    "count-missing": (lambda x: x.counts.clear(), "is missing; expected slots 2"),
    "count-too-high": (lambda x: change(x.counts, delivered=2), "differs: delivered is 2 instead of 1"),
}


@pytest.mark.parametrize(("inject", "message"), FAULTS.values(), ids=FAULTS)
def test_every_fault_is_reported_with_its_record(inject: Callable[[RunLog], object], message: str) -> None:
    log = good_log()

    inject(log)

    assert [] != [text for text in outcome_of(log).differences if message in text]


def test_outdated_row_of_the_table_is_reported() -> None:
    rows = good_log().results
    change(rows, SLOT, code="pending")

    assert [f"row {SLOT} differs: code is 'pending' instead of 'filled'"] == outcome_of(good_log(), rows).differences


def test_expired_record_is_counted_without_difference() -> None:
    log = good_log(expired="ad-callbacks:1:000000000000")

    outcome = outcome_of(log)

    assert [] == outcome.differences
    assert {"in": 7, "events": 5, "rejected": 2} == outcome.counts["source records"]


def test_pending_result_open_order_and_reserved_slot_are_outstanding() -> None:
    """
    Pending results, open orders and reserved slots are outstanding until their final versions.

    An ad slot that the counts omit is also outstanding.
    """
    log = good_log()
    slot, count = log.results[OPEN_SLOT], next(iter(log.counts.values()))
    steps: tuple[Callable[[], None], ...] = (
        lambda: log.record_result({**slot, "code": "pending", "version": 1}, T),
        lambda: log.record_credit({**log.credits[ORDER], "final": False, "version": 1}, T),
        lambda: log.record_count({**count, "reserved": 1, "version": 1}),
        lambda: log.record_count({**count, "reserved": 0, "slots": count["slots"] - 1, "version": 2}),
        lambda: log.record_result({**slot, "version": 2}, T),
        lambda: log.record_credit({**log.credits[ORDER], "final": True, "version": 2}, T),
        lambda: log.record_count({**count, "version": 3}),
    )
    outstanding = [log.outstanding()]

    for step in steps:
        step()
        outstanding.append(log.outstanding())

    assert [0, 1, 2, 3, 3, 2, 1, 0] == outstanding


def test_touch_written_twice_has_its_first_append_time() -> None:
    click = {**good_log().results[f"t/{T}/click/k"], "version": 2}
    forward, backward = RunLog(), RunLog()

    for appended_at in (T, T + 5):
        forward.record_result(click, appended_at)
    for appended_at in (T + 5, T):
        backward.record_result(click, appended_at)

    assert [T] == [touch.stored_at for touch in forward.touches["u"].values()]
    assert forward.touches == backward.touches


def test_newest_version_counts_in_any_order_of_reading() -> None:
    log = RunLog()
    for version in (4, 2, 4):
        log.record_result({"src": "s", "result_id": "a", "kind": "slot", "version": version, "code": str(version)}, T)

    assert "4" == log.results["a"]["code"]
    assert {"ad-attributed": 1} == dict(log.duplicates) == dict(log.outdated)
    assert set() == log.conflicts


def test_repeated_and_outdated_rows_are_differences_if_the_queries_write_exactly_once() -> None:
    log, settings = good_log(), replace(SETTINGS, exactly_once=1)
    log.written["ad-pacing"] = log.written["slots"]
    assert [] == outcome_of(log, settings=settings).differences
    slot = next(row for row in log.results.values() if row["kind"] == "slot")
    for version in (-1, slot["version"]):
        log.record_result({**slot, "version": version}, T)
    log.outdated["ad-pacing"] = 1

    expected = ["ad-attributed contains 1 rows twice", "ad-pacing contains 1 rows after newer ones"]
    assert [*expected, "ad-pacing contains 2 rows for 4 rows of ad slots"] == outcome_of(
        log, settings=settings
    ).differences
    assert [] == outcome_of(log).differences


def test_credit_may_differ_only_before_its_newest_version() -> None:
    """After a restart in real-time mode, records of other topics can come first; a later version settles the credit."""
    log = good_log()
    credit = {**log.credits[ORDER], "version": 4}
    log.record_credit(credit, T)
    log.record_credit({**credit, "late_touches": 1}, T)

    assert {ORDER} == log.conflicts
    log.record_credit({**credit, "version": 5}, T)
    assert set() == log.conflicts


def test_order_of_an_erased_user_is_counted_but_not_compared() -> None:
    """The credit depends on when the query read the erasure, so only the number of conversions is checked."""
    log = good_log()
    log.erased.add("u")
    credit = log.credits[ORDER]

    log.credits[ORDER] = {**credit, "code": "unattributed", "credits": [], "records": 1}
    log.credits[f"{ORDER}/{T + 2}"] = {**log.credits[ORDER], "result_id": f"{ORDER}/{T + 2}"}
    split = outcome_of(log)
    log.credits[ORDER] = {**credit, "records": 2}
    wrong = outcome_of(log)

    assert [] == split.differences
    assert (0, 1) == (split.orders, split.erased_orders)
    assert {"in": 2, "unattributed": 2, "duplicate": 0} == split.counts["conversions"]
    assert [
        f"credit {ORDER} includes 3 conversions instead of 2",
        "conversions: input is 2, but the outcomes add up to 3",
    ] == wrong.differences


def test_touch_stored_too_late_is_counted_in_the_replay() -> None:
    """Lateness depends on append times, so the replay counts the same late touches as the query."""
    log = good_log()
    in_time = next(iter(log.touches["u"].values()))
    log.touches["u"]["late", 2] = replace(in_time, result_id="late", event_id="late", stored_at=T + 20_000)

    before = outcome_of(log).differences
    change(log.credits, late_touches=1)

    assert [f"credit {ORDER} differs: late_touches is 0 instead of 1"] == before
    assert [] == outcome_of(log).differences


def test_replay_correlates_the_first_events_of_the_topic() -> None:
    """If a transaction has too many events, the order in `events` decides, and each event has one outcome."""
    limit = WINDOWS.max_events
    log, sent = RunLog(), {f"ad-callbacks:0:{n:012d}": f"k{n}" for n in range(limit + 2)}
    for src, event_id in sent.items():
        log.record_source(src, SourceRecord(value("click", event_id, impression_id="x"), "normal", T, T + 1))
    for src in reversed(sent):
        log.record_event({"src": src, "kind": "click"}, T + 2)

    results = replay_results(log, WINDOWS)

    excess = [f"t/{T}/too_many_events/ad-callbacks:0:{n:012d}" for n in (1, 0)]
    assert excess == [name for name, result in results.items() if result.code == "too_many_events"]
    assert limit + 2 == len(results)
