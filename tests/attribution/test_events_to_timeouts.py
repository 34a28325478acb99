import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from examples.attribution.correlation.rule import Event, correlate
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.events_to_timeouts import events_to_timeouts
from examples.attribution.settings import Settings
from spark_rtm.kafka.ticks import ticking
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import stop_completely, wait_until
from tests.attribution.correlation.histories import T, drawn, histories
from tests.attribution.hops import TICKS, HopClient, RunningHop
from tests.helpers import eventually

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(400)]

FOREVER = 10**14
TRANSACTIONS = 300
TIME_FIELDS = ("effective_ts", "request_ts", "server_ts", "appended_at")


class TimeoutsRun:
    def __init__(
        self, spark: SparkSession, kafka: str, settings: Settings, folder: Path, *, real_time: bool = False
    ) -> None:
        self.real_time = real_time

        def transform(rows: DataFrame) -> DataFrame:
            return events_to_timeouts(rows, settings, self.timeouts.ticks() if real_time else None)

        self.settings, self.source, self.target = settings, settings.topic("events"), settings.topic("ad-attributed")
        self.matches = RunningHop(spark, kafka, lambda rows: events_to_attributed(rows, settings), folder / "matches")
        self.timeouts = RunningHop(spark, kafka, transform, folder / "timeouts", has_python=True)
        self.matches.start([self.source], self.target, real_time=True)
        assert_real_time(self.matches.query)
        self.timeouts.start([self.source], self.target, real_time=real_time)
        self.client = HopClient(kafka, self.target)
        self.sent: list[Event] = []

    def send(self, events: Iterable[Event]) -> None:
        batch = list(events)
        self.client.send_all([(self.source, e.transaction_id, {**asdict(e), "slots": e.slots or None}) for e in batch])
        self.sent += batch

    def wait(self, is_true: Callable[[], object], deadline_seconds: float, what: str) -> None:
        """Wait until `is_true()` returns a true value; raise the error of a query that fails."""
        wait_until(is_true, deadline_seconds, what, [self.matches.query, self.timeouts.query])

    def restart(self) -> None:
        self.timeouts.query.stop()
        self.timeouts.start([self.source], self.target, real_time=self.real_time)

    def code(self, result_id: str) -> str | None:
        code: str | None = self.client.read().get(result_id, {}).get("code")
        return code

    def await_the_rule(self) -> None:
        """Wait until the newest versions equal the rule after all deadlines."""
        of_transaction: defaultdict[str, list[Event]] = defaultdict(list)
        for event in self.sent:
            of_transaction[event.transaction_id].append(event)
        expected = {}
        for events in of_transaction.values():
            for result in correlate(events, self.settings.windows, FOREVER):
                fields = {k: v for k, v in asdict(result).items() if v is not None and k != "version"}
                expected[result.result_id] = fields
        self.client.await_contents(expected, [self.matches.query, self.timeouts.query])


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
    run = TimeoutsRun(spark, kafka, replace(settings, time_scale=100, watermark_slack_ms=120_000), tmp_path)
    now = int(time.time() * 1000)
    request = Event(now, "r", "src:0:0", "request", "t", now, "c", now, now, slots=("s",))
    slot, due = f"t/{now}/slot/s", (now + run.settings.windows.request_to_impression_ms) / 1000

    def is_idle_past_the_deadline() -> bool:
        progress = run.timeouts.query.lastProgress
        return progress is not None and datetime.fromisoformat(progress.timestamp).timestamp() > due

    stop_completely(spark, run.timeouts.query)
    # The stopped query may have planned a batch without this record, which a query on its checkpoint would run first.
    run.timeouts.checkpoint = tmp_path / "one-batch"
    run.send([request])
    # Spark aligns batches with the clock, so an interval of an hour would end at each full hour.
    run.timeouts.start([run.source], run.target, interval="10000 days")
    eventually(run.timeouts.has_committed, 120, "the only batch")
    run.restart()
    run.wait(lambda: run.code(slot) == "pending", 120, "the slot from the real-time query")
    run.wait(is_idle_past_the_deadline, 120, "a progress event of the idle query after the deadline")
    assert run.code(slot) == "pending"

    run.client.send(run.source, "nobody", {"event_id": "wake"})
    run.wait(lambda: run.code(slot) == "unfilled", 120, "the timeout")


@pytest.fixture(params=[False, True], ids=["micro-batch", "real-time"])
def run(
    request: pytest.FixtureRequest, spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> Iterator[TimeoutsRun]:
    settings = replace(settings, time_scale=1_000, watermark_slack_ms=120_000)
    with ticking(kafka, TICKS) if request.param else nullcontext():
        yield TimeoutsRun(spark, kafka, settings, tmp_path, real_time=request.param)


def test_shuffled_transactions_leave_none_pending(run: TimeoutsRun) -> None:
    """After a restart, the newest versions equal the rule: no result is pending, and matches replace timeouts."""
    chance, now = random.Random(7), int(time.time() * 1000) - T
    all_histories = enumerate(drawn(histories(), TRANSACTIONS))
    events = [e for n, history in all_histories for e in shifted(history, n, now + chance.randint(0, 20_000))]
    chance.shuffle(events)
    half, three_quarters = len(events) // 2, len(events) * 3 // 4
    run.send(events[:half])
    eventually(run.timeouts.has_committed, 120, "a committed batch")

    run.send(events[half:three_quarters])
    run.restart()
    run.send(events[three_quarters:])

    run.await_the_rule()
    codes = {row["code"] for row in run.client.newest.values()}
    assert {"filled", "unfilled", "orphan_impression", "orphan_click", "orphan_step"} < codes
    timed_out = [run.client.newest[row["result_id"]] for row in run.client.rows if row["code"] == "unfilled"]
    assert {"filled", "unfilled"} == {row["code"] for row in timed_out}
    contents = {(row["result_id"], row["version"]): row for row in run.client.rows}
    assert [] == [row for row in run.client.rows if row != contents[row["result_id"], row["version"]]]
    assert 0 < run.timeouts.timers() <= TRANSACTIONS
