import random
import time
from collections import defaultdict
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from examples.attribution.correlation.rule import Event, correlate
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.events_to_timeouts import events_to_timeouts
from examples.attribution.pipeline import start_with_python
from examples.attribution.settings import Settings
from spark_rtm.kafka.ticks import ticking
from tests.attribution.correlation.histories import T, drawn, histories
from tests.attribution.hops import TICKS, Hop, sent, sent_events, ticks

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


def without_version(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None and name != "version"}


def test_timer_waits_after_an_idle_restart(spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path) -> None:
    """After a restart, Spark plans no batch without input until it has run a batch with input."""
    settings = replace(settings, time_scale=100, watermark_slack_ms=120_000)
    hop = Hop(spark, kafka, lambda rows: events_to_timeouts(rows, settings), tmp_path, [settings.topic("events")])
    # The first batch can start seconds later, and the slot must still be pending then.
    now = int(time.time() * 1000) + 20_000
    request = Event(now, "r", "src:0:0", "request", "t", now, "c", now, now, slots=("s",))
    slot, due = f"t/{now}/slot/s", (now + settings.windows.request_to_impression_ms) / 1000

    def start(interval: str) -> None:
        writer = hop.rows.writeStream.format("kafka").outputMode("update").option("topic", hop.target)
        writer = writer.option("kafka.bootstrap.servers", kafka).option("checkpointLocation", str(tmp_path))
        hop.query = start_with_python(writer.trigger(processingTime=interval))

    def is_idle_past_the_deadline() -> bool:
        progress = hop.query.lastProgress
        return progress is not None and datetime.fromisoformat(progress.timestamp).timestamp() > due

    hop.send(sent_events([request]))
    # Spark aligns batches with the clock, so an interval of an hour would end at each full hour.
    start("10000 days")
    hop.wait(hop.has_committed, "the only batch")
    hop.query.stop()
    # Without an interval, a query with timers would run batches all the time and take a core from other tests.
    start("2 seconds")
    hop.wait(is_idle_past_the_deadline, "a progress event of the idle query after the deadline")
    assert {} == hop.read()

    hop.send([sent("nobody", {"event_id": "wake"})])
    hop.wait(lambda: hop.read().get(slot, {}).get("code") == "unfilled", "the timeout")


def test_shuffled_transactions_all_end(spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path) -> None:
    """After a restart, the newest versions equal the rule: no result is pending, and matches replace timeouts."""
    settings = replace(settings, time_scale=1_000, watermark_slack_ms=120_000)
    sources = [settings.topic("events")]
    matches = Hop(spark, kafka, lambda rows: events_to_attributed(rows, settings), tmp_path / "matches", sources)
    timeouts = Hop(
        spark,
        kafka,
        lambda rows: events_to_timeouts(rows, settings, ticks(spark, kafka)),
        tmp_path / "timeouts",
        sources,
        matches.target,
    )
    chance, now = random.Random(7), int(time.time() * 1000) - T
    all_histories = enumerate(drawn(histories(), TRANSACTIONS))
    events = [e for n, history in all_histories for e in shifted(history, n, now + chance.randint(0, 20_000))]
    chance.shuffle(events)
    half, three_quarters = len(events) // 2, len(events) * 3 // 4
    with ticking(kafka, TICKS):
        # In a short first batch, the tasks of this query would start after the end of the batch and read nothing.
        matches.run(10_000)
        timeouts.run()
        timeouts.send_events(events[:half])
        timeouts.wait(timeouts.has_committed, "a committed batch")

        timeouts.send_events(events[half:three_quarters])
        timeouts.query.stop()
        timeouts.run()
        timeouts.send_events(events[three_quarters:])

        of_transaction: defaultdict[str, list[Event]] = defaultdict(list)
        for event in events:
            of_transaction[event.transaction_id].append(event)
        results = [r for of_one in of_transaction.values() for r in correlate(of_one, settings.windows, FOREVER)]
        expected = {r.result_id: without_version(asdict(r)) for r in results}

        def newest() -> dict[str, dict[str, Any]]:
            return {result_id: without_version(row) for result_id, row in timeouts.read().items()}

        timeouts.wait(lambda: newest() == expected, "the results of the rule", matches.query)
    assert {"filled", "unfilled", "orphan_impression", "orphan_click", "orphan_step"} < {r.code for r in results}
    timed_out = [timeouts.newest[row["result_id"]] for row in timeouts.emitted if row["code"] == "unfilled"]
    assert {"filled", "unfilled"} == {row["code"] for row in timed_out}
    contents = {(row["result_id"], row["version"]): row for row in timeouts.emitted}
    assert [] == [row for row in timeouts.emitted if row != contents[row["result_id"], row["version"]]]
