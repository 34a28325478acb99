"""Time-outs on the broker, beside the real-time query, with a restart in the middle, and the end of their state."""

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from examples.attribution.correlation_rule import Event, correlate
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.events_to_timeouts import events_to_timeouts
from examples.settings import Settings
from examples.spark_session import QueryFailedError, assert_real_time, raise_if_failed, wait_until
from tests.attribution.hops import Hop, Mailbox
from tests.helpers import eventually

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

FOR_EVER = 10**14
TRANSACTIONS = 20


def transaction(n: int, now: int) -> list[Event]:
    """Return one of five stories: no impression, all well, a click alone, an impression alone, an impression late."""
    request = Event(now, f"r{n}", f"src:0:{n}0", "request", f"t{n}", now, "c", now, now, slots=("s",))
    shown = replace(request, event_id=f"i{n}", src=f"src:0:{n}1", kind="impression", slots=(), slot_id="s")
    shown = replace(shown, impression_id=f"i{n}", creative_length_ms=9)
    click = replace(shown, event_id=f"k{n}", src=f"src:0:{n}2", kind="click", slot_id=None, creative_length_ms=None)
    return [[request], [request, shown, click], [click], [shown], [request, shown]][n % 5]


def rule(events: list[Event], settings: Settings) -> dict[str, dict[str, Any]]:
    """Return what the rule says of all transactions when all time has passed, without versions."""
    expected = {}
    for name in {event.transaction_id for event in events}:
        own = [event for event in events if event.transaction_id == name]
        for result in correlate(own, settings.windows, FOR_EVER):
            expected[result.result_id] = {k: v for k, v in asdict(result).items() if v is not None and k != "version"}
    return expected


def test_time_outs_and_matches_meet_in_one_topic_without_coordination(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """After a restart in the middle the newest versions are the rule's: nothing pending, matches beat time-outs."""
    # The slack is what a busy machine may need for the restart: state that ends before would not know the requests.
    own = replace(settings, time_scale=100, watermark_slack_ms=30_000)
    matches = Hop(spark, kafka, lambda rows: events_to_attributed(rows, own), tmp_path / "matches")
    time_outs = Hop(spark, kafka, lambda rows: events_to_timeouts(rows, own), tmp_path / "time-outs")
    source, target = own.topic("events"), own.topic("ad-attributed")
    matches.start([source], target, real_time=True)
    assert_real_time(matches.query)
    time_outs.start([source], target)
    box = Mailbox(kafka, target)
    sent: list[Event] = []

    def send(event: Event) -> None:
        box.send(source, event.transaction_id, {**asdict(event), "slots": event.slots or None})
        sent.append(event)

    started_at = int(time.time() * 1000)
    stories = [transaction(n, started_at) for n in range(TRANSACTIONS)]
    for story in stories:
        send(story[0])
    eventually(time_outs.has_committed, 120, "a committed batch")
    time_outs.query.stop()
    time_outs.start([source], target)
    # Every first record has waited too long by now, so that what comes next has a time-out to beat.
    overdue = [f"t{n}/{started_at}/slot/s" for n in range(TRANSACTIONS) if n % 5 in (0, 1, 4)]
    wait_until(
        lambda: all(box.read().get(key, {}).get("code") == "unfilled" for key in overdue),
        120,
        "time-outs of all slots",
        [matches.query, time_outs.query],
    )
    for story in stories:
        for event in story[1:]:
            send(event)

    box.await_contents(rule(sent, own), [matches.query, time_outs.query])
    assert {"filled", "unfilled"} == {row["code"] for row in box.newest.values() if row["kind"] == "slot"}
    eventually(lambda: time_outs.state_rows() == 0, 120, "no rows of state")


def test_real_time_mode_refuses_the_processor(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """On open-source Spark a Python processor fails in real-time mode, after `start()` has returned."""
    hop = Hop(spark, kafka, lambda rows: events_to_timeouts(rows, settings), tmp_path / "checkpoint")

    hop.start([settings.topic("events")], settings.topic("ad-attributed"), real_time=True)
    eventually(hop.query.exception, 60, "the refusal")

    with pytest.raises(QueryFailedError) as refused:
        raise_if_failed([hop.query])
    assert "STDS_FAILED_TO_READ_OPERATOR_METADATA" == refused.value.condition
