"""The correlation query on the broker: the results that it emits per event, and the end of its state."""

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.settings import DemoSettings, Settings
from spark_rtm.kafka.consumer import consumer_from_start, is_record
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import raise_if_failed
from tests.helpers import eventually, kafka_rows

pytestmark = [pytest.mark.spark, pytest.mark.services]

T = int(time.time() * 1000)
CLICKS = 2_000
REQUEST = Event(T, "r", "src:0:1", "request", "t", T, "c", T, T, slots=("s",))
IMPRESSION = replace(REQUEST, event_id="i", src="src:0:2", kind="impression", slots=(), slot_id="s", impression_id="x")
IMPRESSION = replace(IMPRESSION, creative_length_ms=9)
COPY = replace(IMPRESSION, src="src:0:3")
CLICK = replace(IMPRESSION, event_id="k", src="src:0:4", kind="click", slot_id=None, creative_length_ms=None)
CHANGED = [(REQUEST, 2), (IMPRESSION, 2), (COPY, 1), (CLICK, 1)]
"""Events of a transaction, and the number of results that each of them changes."""
MANY_CLICKS = [replace(CLICK, transaction_id="many", event_id=f"k{n}", src=f"src:1:{n}") for n in range(CLICKS)]


class CorrelationRun:
    def __init__(self, spark: SparkSession, kafka: str, settings: Settings, checkpoint: Path) -> None:
        rows = events_to_attributed(kafka_rows(spark, kafka, settings.topic("events")), settings)
        writer = rows.writeStream.format("kafka").outputMode("update")
        writer = writer.option("kafka.bootstrap.servers", kafka).option("topic", settings.topic("ad-attributed"))
        writer = writer.option("checkpointLocation", str(checkpoint))
        self.query: StreamingQuery
        if settings.trigger == "real-time":
            self.query = writer.trigger(realTime="2 seconds").start()  # type: ignore[call-overload]
            assert_real_time(self.query)
        else:
            self.query = writer.trigger(processingTime="0 seconds").start()
        self.topic = settings.topic("events")
        self.producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})
        target = {settings.topic("ad-attributed"): settings.partitions}
        self.consumer = consumer_from_start(kafka, target, {"fetch.wait.max.ms": 10})

    def send(self, *events: Event) -> None:
        for event in events:
            fields = {k: v for k, v in asdict(event).items() if v not in (None, ())}
            self.producer.produce(self.topic, json.dumps(fields).encode(), event.transaction_id.encode(), partition=0)
        assert 0 == self.producer.flush(30)

    def results(self, count: int) -> list[Result]:
        """Wait for the next `count` rows and return them, sorted by result id."""
        rows: list[Result] = []

        def read() -> bool:
            raise_if_failed([self.query])
            for message in filter(is_record, self.consumer.consume(100, 0.1)):
                fields: dict[str, Any] = json.loads(message.value() or b"")
                assert fields["result_id"].encode() == message.key()
                rows.append(Result(**fields))
            return len(rows) >= count

        eventually(read, 60, f"{count} rows of results")
        return sorted(rows, key=lambda result: result.result_id)

    def state_size(self, spark: SparkSession, checkpoint: Path) -> int:
        batch = self.query.lastProgress.batchId if self.query.lastProgress else -1
        eventually(lambda: self.query.lastProgress and self.query.lastProgress.batchId > batch + 1, 60, "a commit")
        rows = spark.read.format("statestore").load(str(checkpoint))
        return sum(len(str(row.value)) for row in rows.select("value").collect())


def rule(*events: Event) -> dict[str, Result]:
    return {result.result_id: result for result in correlate(events, DemoSettings().windows)}


@dataclass(frozen=True)
class Observed:
    steps: list[list[Result]]
    """The results after each event of `CHANGED`."""
    repeats: list[Result]
    """The results after repeated records, and after a new click."""
    clicks: list[Result]
    """The results after `MANY_CLICKS` and a request of another transaction."""
    state_size: int
    """Length of the printed state after 2,000 clicks of one transaction."""
    removed: int
    left: int


@pytest.fixture(scope="module")
def observed(
    spark: SparkSession, kafka: str, shared_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Observed:
    brief = replace(shared_settings, watermark_slack_ms=1_000)
    checkpoint = tmp_path_factory.mktemp("checkpoint")
    run = CorrelationRun(spark, kafka, brief, checkpoint)
    steps = []
    for event, changed in CHANGED:
        run.send(event)
        steps.append(run.results(changed))
    run.send(IMPRESSION, REQUEST, replace(CLICK, event_id="k2", src="src:0:5"))
    repeats = run.results(1)
    run.send(*MANY_CLICKS, replace(REQUEST, transaction_id="other", src="src:0:other"))
    clicks = run.results(CLICKS + 2)
    state_size = run.state_size(spark, checkpoint)
    later = T + brief.windows.horizon_ms + brief.watermark_slack_ms + 1_000
    run.send(replace(REQUEST, transaction_id="later", request_ts=later, src="src:0:9"))
    run.results(2)

    def removed_rows() -> int:
        raise_if_failed([run.query])
        return sum(p.stateOperators[0].numRowsRemoved for p in run.query.recentProgress)

    eventually(removed_rows, 60, "a removed transaction")
    left, removed = run.query.recentProgress[-1].stateOperators[0].numRowsTotal, removed_rows()
    run.query.stop()
    return Observed(steps, repeats, clicks, state_size, removed, left)


def test_each_event_emits_only_the_results_it_changed(observed: Observed) -> None:
    """One row is emitted per changed result; a record that is processed again changes none."""
    history: list[Event] = []
    known: dict[str, Result] = {}

    for (event, changed), results in zip(CHANGED, observed.steps, strict=True):
        history.append(event)
        expected = [
            result
            for result_id, result in rule(*history).items()
            if result_id not in known or replace(known[result_id], version=result.version) != result
        ]
        assert changed == len(expected)
        assert sorted(expected, key=lambda result: result.result_id) == results
        known = rule(*history)
    assert ["repeat_click"] == [result.code for result in observed.repeats]


def test_transaction_with_thousands_of_events_does_not_stall_another(observed: Observed) -> None:
    """After 2,000 clicks of one transaction, another transaction is answered within a minute."""
    max_events = DemoSettings().windows.max_events

    expected = {f"many/{T}/too_many_events/{click.src}" for click in MANY_CLICKS[max_events:]}
    assert expected == {result.result_id for result in observed.clicks if result.code == "too_many_events"}
    # A stored event has about 300 characters.
    assert observed.state_size < 2 * 300 * max_events
    others = [result.code for result in observed.clicks if result.transaction_id == "other"]
    assert ["accepted", "pending"] == others


def test_micro_batch_mode_emits_all_results_of_a_transaction(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """In micro-batch mode one row can cover several events, so all results of the transaction are emitted."""
    events = (REQUEST, IMPRESSION, COPY, CLICK)
    run = CorrelationRun(spark, kafka, replace(settings, trigger="micro-batch"), tmp_path / "checkpoint")

    run.send(*events)

    expected = sorted(rule(*events).values(), key=lambda result: result.result_id)
    newest: dict[str, Result] = {}

    def is_settled() -> bool:
        newest.update({result.result_id: result for result in run.results(1)})
        return [newest[key] for key in sorted(newest)] == expected

    eventually(is_settled, 60, "the results of the rule")


def test_state_of_a_transaction_ends_behind_the_watermark(observed: Observed) -> None:
    assert len({"t", "many", "other"}) == observed.removed
    assert len({"later"}) == observed.left
