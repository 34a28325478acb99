"""Time-outs on the broker, beside the real-time query, with a restart in the middle, and the end of their state."""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.attribution.correlation.rule import Event, correlate
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.events_to_timeouts import events_to_timeouts
from examples.attribution.settings import Settings
from examples.realtime.proof import assert_real_time
from examples.realtime.queries import QueryFailedError, raise_if_failed, stop_completely, wait_until
from tests.attribution.correlation.histories import T, drawn, histories
from tests.attribution.hops import Hop, Mailbox
from tests.helpers import eventually

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

FOR_EVER = 10**14
STORIES = 20
TRANSACTIONS = 1_000
TIMES = ("effective_ts", "request_ts", "server_ts", "appended_at")


def transaction(n: int, now: int) -> list[Event]:
    """Return one of five stories: no impression, all well, a click alone, an impression alone, an impression late."""
    request = Event(now, f"r{n}", f"src:0:{n}0", "request", f"t{n}", now, "c", now, now, slots=("s",))
    shown = replace(request, event_id=f"i{n}", src=f"src:0:{n}1", kind="impression", slots=(), slot_id="s")
    shown = replace(shown, impression_id=f"i{n}", creative_length_ms=9)
    click = replace(shown, event_id=f"k{n}", src=f"src:0:{n}2", kind="click", slot_id=None, creative_length_ms=None)
    return [[request], [request, shown, click], [click], [shown], [request, shown]][n % 5]


class Bench:
    """The real-time query and the time-outs beside it, from one topic to another."""

    def __init__(self, spark: SparkSession, kafka: str, settings: Settings, folder: Path) -> None:
        """Start both."""
        self.settings, self.source, self.target = settings, settings.topic("events"), settings.topic("ad-attributed")
        self.matches = Hop(spark, kafka, lambda rows: events_to_attributed(rows, settings), folder / "matches")
        self.time_outs = Hop(spark, kafka, lambda rows: events_to_timeouts(rows, settings), folder / "time-outs")
        self.matches.start([self.source], self.target, real_time=True)
        assert_real_time(self.matches.query)
        self.time_outs.start([self.source], self.target)
        self.box = Mailbox(kafka, self.target)
        self.sent: list[Event] = []

    def send(self, events: Iterable[Event]) -> None:
        """Send events as the decoder would."""
        new = list(events)
        self.box.send_all([(self.source, e.transaction_id, {**asdict(e), "slots": e.slots or None}) for e in new])
        self.sent += new

    def wait(self, is_true: Callable[[], object], deadline_seconds: float, what: str) -> None:
        """Wait until `is_true()`, or fail with the query that has failed."""
        wait_until(is_true, deadline_seconds, what, [self.matches.query, self.time_outs.query])

    def restart(self) -> None:
        """Stop the time-outs wherever they are, and start them from their checkpoint."""
        self.time_outs.query.stop()
        self.time_outs.start([self.source], self.target)

    def wake(self) -> None:
        """Send a record of no transaction: after a restart between two batches no timer fires before a record."""
        self.box.send(self.source, "nobody", {"event_id": "wake"})

    def code(self, result_id: str) -> str | None:
        """Return the code of the newest version that has come, None before the first."""
        code: str | None = self.box.read().get(result_id, {}).get("code")
        return code

    def await_the_rule(self) -> None:
        """Wait until the newest versions are what the rule says when all time has passed."""
        of_transaction: defaultdict[str, list[Event]] = defaultdict(list)
        for event in self.sent:
            of_transaction[event.transaction_id].append(event)
        expected = {}
        for own in of_transaction.values():
            for result in correlate(own, self.settings.windows, FOR_EVER):
                fields = {k: v for k, v in asdict(result).items() if v is not None and k != "version"}
                expected[result.result_id] = fields
        self.box.await_contents(expected, [self.matches.query, self.time_outs.query])


def placed(history: list[Event], n: int, shift_ms: int) -> list[Event]:
    """Return a generated history as transaction `n`, moved to the present."""
    return [
        replace(
            event,
            transaction_id=f"t{n}",
            src=f"{event.src}{n}",
            **{name: getattr(event, name) + shift_ms for name in TIMES},
        )
        for event in history
    ]


def test_time_outs_and_matches_meet_in_one_topic_without_coordination(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """After a restart in the middle the newest versions are the rule's: nothing pending, matches beat time-outs."""
    # The slack is what a busy machine may need for the restart: state that ends before would not know the requests.
    bench = Bench(spark, kafka, replace(settings, time_scale=100, watermark_slack_ms=30_000), tmp_path)
    started_at = int(time.time() * 1000)
    stories = [transaction(n, started_at) for n in range(STORIES)]
    bench.send(story[0] for story in stories)
    eventually(lambda: bench.time_outs.state_rows() >= STORIES, 120, "state of every story")
    bench.restart()
    bench.wake()
    # Every first record has waited too long by now, so that what comes next has a time-out to beat.
    overdue = [f"t{n}/{started_at}/slot/s" for n in range(STORIES) if n % 5 in (0, 1, 4)]
    bench.wait(lambda: all(bench.code(key) == "unfilled" for key in overdue), 120, "time-outs of all slots")
    bench.send(event for story in stories for event in story[1:])

    bench.await_the_rule()
    assert {"filled", "unfilled"} == {row["code"] for row in bench.box.newest.values() if row["kind"] == "slot"}
    eventually(lambda: bench.time_outs.state_rows() == 0, 120, "no rows of state")
    assert 0 == bench.time_outs.timers()


def test_timers_wait_for_a_record_after_a_restart_between_two_batches(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """The engine plans a batch without input only after one with input since its start; then the overdue comes."""
    bench = Bench(spark, kafka, replace(settings, time_scale=100, watermark_slack_ms=120_000), tmp_path)
    now = int(time.time() * 1000)
    slot, due = f"t0/{now}/slot/s", (now + bench.settings.windows.request_to_impression_ms) / 1000

    def is_idle_past_the_deadline() -> bool:
        progress = bench.time_outs.query.lastProgress
        return progress is not None and datetime.fromisoformat(progress.timestamp).timestamp() > due

    stop_completely(spark, bench.time_outs.query)
    bench.send(transaction(0, now))
    bench.time_outs.start([bench.source], bench.target, every="1 hour")
    eventually(bench.time_outs.has_committed, 120, "a batch that no other follows")
    bench.restart()
    bench.wait(lambda: bench.code(slot) == "pending", 120, "the slot from the real-time query")
    bench.wait(is_idle_past_the_deadline, 60, "a look of the idle query after the deadline")
    assert bench.code(slot) == "pending"

    bench.wake()
    bench.wait(lambda: bench.code(slot) == "unfilled", 120, "the time-out")


def test_a_thousand_transactions_in_any_order_with_a_restart_leave_nothing_pending(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """Deadlines pass while records come: newest versions are the rule's, none has two contents, no timers pile up."""
    bench = Bench(spark, kafka, replace(settings, time_scale=1_000, watermark_slack_ms=120_000), tmp_path)
    chance, now = random.Random(7), int(time.time() * 1000) - T
    all_histories = enumerate(drawn(histories(), TRANSACTIONS))
    events = [e for n, history in all_histories for e in placed(history, n, now + chance.randint(0, 20_000))]
    chance.shuffle(events)
    half, most = len(events) // 2, len(events) * 3 // 4
    bench.send(events[:half])
    eventually(bench.time_outs.has_committed, 120, "a committed batch")

    bench.send(events[half:most])
    bench.restart()
    bench.send(events[most:])

    bench.await_the_rule()
    codes = {row["code"] for row in bench.box.newest.values()}
    assert {"filled", "unfilled", "orphan_impression", "orphan_click", "orphan_step"} < codes
    contents = {(row["result_id"], row["version"]): row for row in bench.box.rows}
    assert [] == [row for row in bench.box.rows if row != contents[row["result_id"], row["version"]]]
    assert 0 < bench.time_outs.timers() <= TRANSACTIONS


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
