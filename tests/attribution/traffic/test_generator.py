import json
import threading
import time
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import pytest

from examples.attribution.settings import DemoSettings, Settings
from examples.attribution.topics import ERASURES_TOPIC, SOURCE_TOPICS
from examples.attribution.traffic.generator import RESALE_CAMPAIGN, ScheduledRecord, TrafficGenerator
from examples.attribution.traffic.producer import SendLog, send
from spark_rtm.kafka.consumer import read_topic

RECORDS = 20_000
STARTED_AT = 1_700_000_000.0
OF_RECORDS: dict[str, Any] = {"duplicate_share": 0.2, "malformed_share": 0.1}
OF_TRANSACTIONS: dict[str, Any] = {"late_share": 0.3, "out_of_order_share": 0.2, "orphan_share": 0.1}
FAULTY = replace(DemoSettings(), warm_up_seconds=0, erasure_share=0.05, **OF_RECORDS, **OF_TRANSACTIONS)


@cache
def records(settings: Settings = FAULTY, count: int = RECORDS) -> list[ScheduledRecord]:
    return list(islice(TrafficGenerator(settings, settings.windows, "run", STARTED_AT).records(), count))


def fields(record: ScheduledRecord) -> dict[str, Any]:
    return dict(json.loads(record.value or b""))


def transactions(all_records: list[ScheduledRecord]) -> dict[str, list[ScheduledRecord]]:
    by_id: defaultdict[str, list[ScheduledRecord]] = defaultdict(list)
    for record in all_records:
        if record.label not in ("malformed", "erasure") and (transaction_id := fields(record).get("transaction_id")):
            by_id[transaction_id].append(record)
    return by_id


def test_same_seed_gives_the_same_records() -> None:
    assert records(FAULTY, 2_000) == records()[:2_000]
    assert records(replace(FAULTY, seed=8), 2_000) != records()[:2_000]


def test_shares_of_faults_equal_their_settings() -> None:
    complete_before = (STARTED_AT + 90) * 1000  # not all records of later transactions have been sent
    counted = Counter(record.label for record in records())
    by_id = transactions(records())
    complete = [events for events in by_id.values() if fields(events[0])["request_ts"] < complete_before]

    for name, share in OF_RECORDS.items():
        assert counted[name.removesuffix("_share")] / RECORDS == pytest.approx(share, abs=0.01)
    for name, share in OF_TRANSACTIONS.items():
        faulty = sum(any(record.label == name.removesuffix("_share") for record in events) for events in complete)
        assert faulty / len(complete) == pytest.approx(share, abs=0.04)
    with_user = [events for events in by_id.values() if "user_key" in fields(events[0])]
    erasures = [record for record in records() if record.topic == ERASURES_TOPIC]
    assert len(erasures) / len(with_user) == pytest.approx(0.05, abs=0.01)
    assert {(None, "erasure", True)} == {(r.value, r.label, r.key.startswith("user-")) for r in erasures}
    none: dict[str, Any] = dict.fromkeys(OF_RECORDS | OF_TRANSACTIONS, 0)
    normal = replace(FAULTY, erasure_share=0, **none)
    assert {"normal"} == {record.label for record in records(normal, 2_000)}


def test_duplicate_repeats_an_earlier_event_with_its_fields() -> None:
    seen: dict[str, dict[str, Any]] = {}
    repeats = 0
    for record in records():
        if record.label in ("malformed", "erasure"):
            continue
        event = {name: value for name, value in fields(record).items() if name != "server_ts"}
        if record.label == "duplicate" and event["event_id"] in seen:
            assert seen[event["event_id"]] == event
            repeats += 1
        seen.setdefault(event["event_id"], event)
    assert repeats > 100


def test_one_campaign_is_hot_and_others_share_the_rest() -> None:
    requests = [fields(r) for r in records() if r.label == "normal" and r.topic == "ad-requests"]

    counted = Counter(request["campaign_id"] for request in requests)
    assert [f"run-campaign-{n}" for n in range(8)] == sorted(counted)
    assert counted["run-campaign-0"] / len(requests) == pytest.approx(0.4, abs=0.03)
    assert counted["run-campaign-5"] / len(requests) == pytest.approx(0.6 / 7, abs=0.02)


def test_requests_of_a_closed_campaign_are_resold() -> None:
    """From the next request on, requests of a closed campaign go to resale; other traffic does not change."""
    closed: set[str] = set()
    traffic = TrafficGenerator(DemoSettings(), DemoSettings().windows, "run", STARTED_AT)
    traffic.is_open = lambda campaign_id: campaign_id not in closed
    stream = traffic.records()

    before = list(islice(stream, 2_000))
    closed.add("run-campaign-0")
    after = list(islice(stream, 2_000))

    def sold_to(sent: list[ScheduledRecord]) -> set[str]:
        return {fields(r)["campaign_id"] for r in sent if r.label == "normal" and r.topic == "ad-requests"}

    def places(sent: list[ScheduledRecord]) -> list[tuple[str, str, float]]:
        return [(record.topic, record.key, record.send_at) for record in sent]

    assert (True, False) == ("run-campaign-0" in sold_to(before), RESALE_CAMPAIGN in sold_to(before))
    assert (False, True) == ("run-campaign-0" in sold_to(after), RESALE_CAMPAIGN in sold_to(after))
    assert places(records(DemoSettings(), 4_000)) == places(before + after)


def test_late_impressions_are_later_than_their_window() -> None:
    """The event time of every late impression is after the end of the window that its request opened."""
    window_ms = DemoSettings().windows.request_to_impression_ms
    events = [fields(r) for r in records() if r.label == "late"]
    late = [event for event in events if event["kind"] == "impression"]

    assert len(late) > 20
    assert all(event["event_ts"] - event["request_ts"] > window_ms for event in late)


@pytest.mark.services
def test_producer_keeps_the_schedule_and_sends_intended_times(kafka: str, settings: Settings) -> None:
    settings = replace(settings, rate=200, warm_up_seconds=0)
    log, stop = SendLog(started_at=time.time()), threading.Event()
    planned = list(islice(TrafficGenerator(settings, settings.windows, "run", log.started_at).records(), 400))

    send(kafka, settings, iter(planned), log, stop)

    assert (400, 0, 400) == (log.records, log.failed, len(log.lags_ms))
    assert log.rate == pytest.approx(200, rel=0.02)
    topics = [settings.topic(topic) for topic in (*SOURCE_TOPICS, ERASURES_TOPIC)]
    headers: list[Any] = [dict(message.headers() or []) for message in read_topic(kafka, *topics, min_records=400)]
    expected = [(int((log.started_at + record.send_at) * 1000), record.label) for record in planned]
    assert sorted(expected) == sorted((int(header["t0"]), header["label"].decode()) for header in headers)
