"""The generator's shares, ids and schedule, and the sender on a real broker."""

import json
import statistics
import threading
import time
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import islice, pairwise
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from examples.attribution.settings import Settings
from examples.attribution.topics import ERASURES_TOPIC, SOURCE_TOPICS
from examples.attribution.traffic.generator import COLD_SHARE, RESALE_CAMPAIGN, Record, Traffic
from examples.attribution.traffic.goals import FIRST_CAP, LAST_CAP, goals
from examples.attribution.traffic.producer import Sent, send
from tests.helpers import eventually

MANY = 20_000
STARTED_AT = 1_700_000_000.0


def records(count: int = MANY, /, **changes: Any) -> list[Record]:
    """Return the first records of a generator."""
    return _records(count, tuple(changes.items()))


@cache
def _records(count: int, changes: tuple[tuple[str, Any], ...]) -> list[Record]:
    return list(islice(Traffic(replace(Settings(), **dict(changes)), "run", STARTED_AT).records(), count))


def fields(record: Record) -> dict[str, Any]:
    """Return a good record's fields."""
    return dict(json.loads(record.value or b""))


def transactions(found: list[Record]) -> dict[str, list[Record]]:
    """Return the good records by transaction."""
    by_id: defaultdict[str, list[Record]] = defaultdict(list)
    for record in found:
        if record.label not in ("malformed", "erasure") and "transaction_id" in fields(record):
            by_id[fields(record)["transaction_id"]].append(record)
    return by_id


def test_the_same_seed_gives_the_same_records() -> None:
    """A run can be repeated exactly; another seed gives another run."""
    first, second, other = (
        list(islice(Traffic(Settings(seed=seed), "run", STARTED_AT).records(), 2_000)) for seed in (7, 7, 8)
    )

    assert first == second
    assert first != other


def test_ids_of_two_runs_never_meet() -> None:
    """A second run on the same topics is new traffic, not duplicates."""
    runs = (islice(Traffic(Settings(), run, STARTED_AT).records(), 1_000) for run in ("first", "second"))
    ids = [{fields(record)["event_id"] for record in run if record.label == "normal"} for run in runs]

    assert set() == ids[0] & ids[1]


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2])
@pytest.mark.parametrize(("option", "label"), [("duplicate_share", "duplicate"), ("malformed_share", "malformed")])
def test_the_share_of_spoilt_records_is_the_one_that_was_set(option: str, label: str, share: float) -> None:
    """Duplicates and malformed records are counted among all records."""
    counted = Counter(record.label for record in records(**{option: share}))

    assert counted[label] / MANY == pytest.approx(share, abs=0.01 if share else 0)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3])
@pytest.mark.parametrize(
    ("option", "label"), [("late_share", "late"), ("out_of_order_share", "out_of_order"), ("orphan_share", "orphan")]
)
def test_the_share_of_odd_transactions_is_the_one_that_was_set(option: str, label: str, share: float) -> None:
    """Late, out-of-order and orphan events are counted among all transactions."""
    complete_before = (STARTED_AT + 20) * 1000  # later ones have not been sent to their ends
    all_found = transactions(records(warm_up_seconds=0, rate=500, **{option: share}))
    found = {key: own for key, own in all_found.items() if fields(own[0])["request_ts"] < complete_before}

    odd = sum(any(record.label == label for record in own) for own in found.values())
    assert odd / len(found) == pytest.approx(share, abs=0.04 if share else 0)


def test_a_duplicate_repeats_an_earlier_event_id_with_the_same_fields() -> None:
    """A retry is the same event again; only the collector's time differs."""
    seen: dict[str, dict[str, Any]] = {}
    repeats = 0
    for record in records(5_000):
        if record.label in ("malformed", "erasure"):
            continue
        own = {k: v for k, v in fields(record).items() if k != "server_ts"}
        if record.label == "duplicate" and own["event_id"] in seen:
            assert seen[own["event_id"]] == own
            repeats += 1
        seen.setdefault(own["event_id"], own)
    assert repeats > 100


def test_requests_with_several_slots_and_slots_with_several_impressions_occur() -> None:
    """Pods of slots and repeated impressions have the shares that were set."""
    found = transactions(records())
    events = [fields(r) for own in found.values() for r in own if r.label != "duplicate"]
    requests = [event for event in events if event["kind"] == "request"]
    shown: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for event in events:
        if event["kind"] == "impression":
            shown[event["transaction_id"], event["slot_id"]].add(event["impression_id"])

    assert sum(len(r["slots"]) > 1 for r in requests) / len(requests) == pytest.approx(0.2, abs=0.03)
    assert sum(len(ids) > 1 for ids in shown.values()) / len(shown) == pytest.approx(0.05, abs=0.02)


def test_one_campaign_is_hot_and_the_others_share_the_rest() -> None:
    """The hot key of pacing has the share that was set."""
    requests = [fields(r) for r in records(hot_campaign_share=0.4) if r.label == "normal" and r.topic == "ad-requests"]

    counted = Counter(request["campaign_id"] for request in requests)
    assert [f"run-campaign-{n}" for n in range(8)] == sorted(counted)
    assert counted["run-campaign-0"] / len(requests) == pytest.approx(0.4, abs=0.03)
    assert counted["run-campaign-5"] / len(requests) == pytest.approx(0.6 / 7, abs=0.02)


def test_requests_of_a_closed_campaign_are_resold_from_the_next_one_on() -> None:
    """The ad server asks before each request; all else of the traffic stays as it would have been."""
    closed: set[str] = set()
    traffic = Traffic(Settings(), "run", STARTED_AT, lambda campaign_id: campaign_id not in closed)
    stream = traffic.records()

    before = list(islice(stream, 2_000))
    closed.add("run-campaign-0")
    after = list(islice(stream, 2_000))

    def sold_to(found: list[Record]) -> set[str]:
        return {fields(r)["campaign_id"] for r in found if r.label == "normal" and r.topic == "ad-requests"}

    assert (True, False) == ("run-campaign-0" in sold_to(before), RESALE_CAMPAIGN in sold_to(before))
    assert (False, True) == ("run-campaign-0" in sold_to(after), RESALE_CAMPAIGN in sold_to(after))
    as_it_would_have_been = list(islice(Traffic(Settings(), "run", STARTED_AT).records(), 4_000))
    assert [(r.topic, r.key, r.send_at) for r in as_it_would_have_been] == [
        (r.topic, r.key, r.send_at) for r in before + after
    ]


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_the_share_of_users_who_ask_for_erasure_is_the_one_that_was_set(share: float) -> None:
    """A tombstone has the user as its key and nothing else; a user without key cannot ask."""
    found = records(erasure_share=share)
    with_user = {fields(r)["transaction_id"] for own in transactions(found).values() for r in own if _has_user(r)}

    erasures = [record for record in found if record.topic == ERASURES_TOPIC]
    assert len(erasures) / len(with_user) == pytest.approx(share, abs=0.01 if share else 0)
    assert {(None, "erasure", True)} >= {(r.value, r.label, r.key.startswith("user-")) for r in erasures}


def _has_user(record: Record) -> bool:
    return "user_key" in fields(record)


def test_goals_are_reached_one_after_the_other_in_the_measured_part() -> None:
    """A simple count of the slots that will be filled meets each goal at its time, give or take chance."""
    settings = Settings(rate=1_000, warm_up_seconds=10, duration=30)
    traffic = Traffic(settings, "run", STARTED_AT)
    own = goals(traffic)
    sent_by = list(islice(traffic.records(), 34_000))

    filled: defaultdict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for record in sent_by:
        if record.topic == "ad-impressions" and record.label in ("normal", "out_of_order"):
            shown = fields(record)
            filled[shown["campaign_id"]].setdefault((shown["transaction_id"], shown["slot_id"]), record.send_at)
    reached = [sorted(filled[goal.campaign_id].values())[goal.impressions - 1] for goal in own]
    planned = [10 + 30 * (FIRST_CAP + (LAST_CAP - FIRST_CAP) * n / 7) for n in range(8)]
    assert planned == pytest.approx(reached, rel=0.2)
    assert {(int(STARTED_AT * 1000), int(STARTED_AT * 1000) + 40_000)} == {(g.starts_at, g.ends_at) for g in own}


def test_the_records_of_a_warm_up_follow_its_rising_rate() -> None:
    """What is due by a time is what the schedule sends by then, before and after the warm-up."""
    settings = Settings(rate=1_000, warm_up_seconds=10)
    times = [record.send_at for record in records(rate=1_000, warm_up_seconds=10)]

    traffic = Traffic(settings, "run", STARTED_AT)
    for seconds in (1, 5, 10, 12):
        assert traffic.records_until(seconds) == pytest.approx(sum(at < seconds for at in times), abs=2)


def test_late_events_are_sent_after_their_window() -> None:
    """A late impression really comes later than its window after the request, in event time and on the wire."""
    window_ms = Settings().windows.request_to_impression_ms
    found = [fields(r) for r in records() if r.label == "late" and fields(r)["kind"] == "impression"]

    assert len(found) > 20
    assert all(event["event_ts"] - event["request_ts"] > window_ms for event in found)


def test_constant_arrivals_are_evenly_spaced_after_the_warm_up() -> None:
    """The measured part has one record every 1/rate seconds."""
    found = records(6_000, rate=1_000, warm_up_seconds=1)
    times = [record.send_at for record in found if record.send_at > 1]

    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert min(gaps) == pytest.approx(0.001)
    assert max(gaps) == pytest.approx(0.001)


def test_poisson_arrivals_have_the_rate_and_spread_of_poisson() -> None:
    """Gaps are exponential: their standard deviation equals their mean, and no record goes back in time."""
    times = [record.send_at for record in records(rate=1_000, warm_up_seconds=0, arrivals="poisson")]

    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert statistics.fmean(gaps) == pytest.approx(0.001, rel=0.03)
    assert statistics.stdev(gaps) == pytest.approx(0.001, rel=0.05)
    assert min(gaps) >= 0


def test_the_rate_grows_during_the_warm_up() -> None:
    """A cold JVM gets few records first: the rate starts at a twentieth and is full at the end."""
    found = records(rate=1_000, warm_up_seconds=10)
    per_second = Counter(int(record.send_at) for record in found)

    assert per_second[0] == pytest.approx((COLD_SHARE + 0.05) * 1_000, rel=0.1)
    assert per_second[9] == pytest.approx(950, rel=0.1)
    assert per_second[12] == pytest.approx(1_000, rel=0.01)


def test_event_times_are_close_to_send_times() -> None:
    """Whatever is not late by design is sent within the collector's skew limit after it happened."""
    delays = [fields(r)["server_ts"] - fields(r)["event_ts"] for r in records() if r.label == "normal"]

    assert -1_000 < min(delays)
    assert max(delays) < Settings().windows.clock_skew_limit_ms


@pytest.mark.services
def test_the_sender_keeps_the_schedule_and_marks_the_intended_time(kafka: str, settings: Settings) -> None:
    """On a real broker every record arrives with its intended send time, and the sender reports its own lag."""
    own = replace(settings, rate=200, warm_up_seconds=0)
    sent, stop = Sent(started_at=time.time()), threading.Event()
    planned = list(islice(Traffic(own, "run", sent.started_at).records(), 400))

    send(kafka, own, iter(planned), sent, stop)

    assert (400, 0, 400) == (sent.records, sent.failed, len(sent.lags_ms))
    assert sent.rate == pytest.approx(200, rel=0.02)
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "test"})
    consumer.assign(
        [TopicPartition(own.topic(t), p, 0) for t in (*SOURCE_TOPICS, ERASURES_TOPIC) for p in range(own.partitions)]
    )
    stamps: list[tuple[int, str]] = []

    def read() -> bool:
        for message in consumer.consume(1_000, 0.2):
            headers: Any = dict(message.headers() or [])
            stamps.append((int(headers["t0"]), headers["label"].decode()))
        return len(stamps) >= 400

    eventually(read, 30, "400 records")
    consumer.close()
    expected = [(int((sent.started_at + record.send_at) * 1000), record.label) for record in planned]
    assert sorted(expected) == sorted(stamps)


@pytest.mark.services
def test_a_stopped_sender_ends_at_once_and_delivers_what_it_sent(kafka: str, settings: Settings) -> None:
    """Ctrl-C does not wait for the end of the schedule and leaves nothing in the sender's buffer."""
    own = replace(settings, rate=1, warm_up_seconds=0)
    sent, stop = Sent(started_at=time.time()), threading.Event()
    records_for_ever = Traffic(own, "run", sent.started_at).records()
    thread = threading.Thread(target=send, args=(kafka, own, records_for_ever, sent, stop))
    thread.start()
    eventually(lambda: sent.records, 10, "a first record")

    stop.set()
    thread.join(10)

    assert not thread.is_alive()
    assert 0 == sent.failed
