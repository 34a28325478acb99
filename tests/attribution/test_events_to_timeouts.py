import random
import time
from collections import defaultdict
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.attribution.correlation.rule import Event, correlate
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.events_to_timeouts import events_to_timeouts
from examples.attribution.settings import Settings
from spark_rtm.kafka.ticks import ticking
from tests.attribution.correlation.histories import T, drawn, histories
from tests.attribution.hops import TICKS, RunningHop, ticks

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

FOREVER = 10**14
TRANSACTIONS = 100
TIME_FIELDS = ("effective_ts", "request_ts", "server_ts", "appended_at")


def shifted(history: list[Event], n: int, shift_ms: int) -> list[Event]:
    return [
        replace(
            event,
            transaction_id=f"t{n}",
            src=f"{event.src}{n}",
            **{name: getattr(event, name) + shift_ms for name in TIME_FIELDS},
        )
        for event in history
    ]


def test_timers_wait_for_a_record_after_an_idle_restart(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """After its start, the engine plans a batch without input only after a batch with input."""
    settings = replace(settings, time_scale=100, watermark_slack_ms=120_000)
    source, target = settings.topic("events"), settings.topic("ad-attributed")
    hop = RunningHop(spark, kafka, lambda rows: events_to_timeouts(rows, settings), tmp_path, [source], target)
    # The first batch can start seconds later, and the slot must still be pending then.
    now = int(time.time() * 1000) + 20_000
    request = Event(now, "r", "src:0:0", "request", "t", now, "c", now, now, slots=("s",))
    slot, due = f"t/{now}/slot/s", (now + settings.windows.request_to_impression_ms) / 1000

    def is_idle_past_the_deadline() -> bool:
        progress = hop.query.lastProgress
        return progress is not None and datetime.fromisoformat(progress.timestamp).timestamp() > due

    hop.client.send_events(source, [request])
    # Spark aligns batches with the clock, so an interval of an hour would end at each full hour.
    hop.start_micro_batch("10000 days")
    hop.wait(hop.has_committed, "the only batch")
    hop.query.stop()
    hop.start_micro_batch()
    hop.wait(is_idle_past_the_deadline, "a progress event of the idle query after the deadline")
    assert {} == hop.client.read()

    hop.client.send((source, "nobody", {"event_id": "wake"}))
    hop.wait(lambda: hop.client.read().get(slot, {}).get("code") == "unfilled", "the timeout")


def test_shuffled_transactions_leave_none_pending(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """After a restart, the newest versions equal the rule: no result is pending, and matches replace timeouts."""
    settings = replace(settings, time_scale=1_000, watermark_slack_ms=120_000)
    source, target = settings.topic("events"), settings.topic("ad-attributed")
    matches, timeouts = (
        RunningHop(spark, kafka, transform, tmp_path / name, [source], target)
        for name, transform in (
            ("matches", lambda rows: events_to_attributed(rows, settings)),
            ("timeouts", lambda rows: events_to_timeouts(rows, settings, ticks(spark, kafka))),
        )
    )
    chance, now = random.Random(7), int(time.time() * 1000) - T
    all_histories = enumerate(drawn(histories(), TRANSACTIONS))
    events = [e for n, history in all_histories for e in shifted(history, n, now + chance.randint(0, 20_000))]
    chance.shuffle(events)
    client, half, three_quarters = timeouts.client, len(events) // 2, len(events) * 3 // 4
    with ticking(kafka, TICKS):
        # In a short first batch, the tasks of this query would start after the end of the batch and read nothing.
        matches.start("10 seconds")
        timeouts.start()
        client.send_events(source, events[:half])
        timeouts.wait(timeouts.has_committed, "a committed batch")

        client.send_events(source, events[half:three_quarters])
        timeouts.query.stop()
        timeouts.start()
        client.send_events(source, events[three_quarters:])

        of_transaction: defaultdict[str, list[Event]] = defaultdict(list)
        for event in events:
            of_transaction[event.transaction_id].append(event)
        results = [r for of_one in of_transaction.values() for r in correlate(of_one, settings.windows, FOREVER)]
        expected = {
            r.result_id: {k: v for k, v in asdict(r).items() if v is not None and k != "version"} for r in results
        }
        client.await_contents(expected, [matches.query, timeouts.query])
    assert {"filled", "unfilled", "orphan_impression", "orphan_click", "orphan_step"} < {r.code for r in results}
    timed_out = [client.newest[row["result_id"]] for row in client.rows if row["code"] == "unfilled"]
    assert {"filled", "unfilled"} == {row["code"] for row in timed_out}
    contents = {(row["result_id"], row["version"]): row for row in client.rows}
    assert [] == [row for row in client.rows if row != contents[row["result_id"], row["version"]]]
