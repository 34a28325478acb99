"""The correlation query on the broker: the results that it emits per event, and the end of its state."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.settings import DemoSettings, Settings
from tests.attribution.correlation.histories import CLICK, IMPRESSION, REQUEST, T
from tests.attribution.hops import RunningHop, event_fields

pytestmark = [pytest.mark.spark, pytest.mark.services]

CLICKS = 2_000
COPY = replace(IMPRESSION, src="src:0:j")
CHANGED = [(REQUEST, 2), (IMPRESSION, 2), (COPY, 1), (CLICK, 1)]
"""Events of a transaction, and the number of results that each of them changes."""
MANY_CLICKS = [replace(CLICK, transaction_id="many", event_id=f"k{n}", src=f"src:1:{n}") for n in range(CLICKS)]


class CorrelationRun(RunningHop):
    def results(self, count: int, *events: Event) -> list[Result]:
        """Send events, wait for the next `count` rows, and return them, sorted by result id."""
        known = len(self.client.rows)
        self.client.send_events(self.sources[0], events)
        self.wait(lambda: self.client.read() and len(self.client.rows) >= known + count, f"{count} rows of results")
        return sorted((Result(**row) for row in self.client.rows[known:]), key=lambda result: result.result_id)

    def state_size(self) -> int:
        batches = len(self.query.recentProgress)
        self.wait(lambda: len(self.query.recentProgress) > batches + 1, "a commit")
        rows = self.spark.read.format("statestore").load(str(self.checkpoint))
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
    source, target = brief.topic("events"), brief.topic("ad-attributed")
    checkpoint = tmp_path_factory.mktemp("checkpoint")
    run = CorrelationRun(spark, kafka, lambda rows: events_to_attributed(rows, brief), checkpoint, [source], target)
    run.start("5 seconds")
    steps = [run.results(changed, event) for event, changed in CHANGED]
    repeats = run.results(1, IMPRESSION, REQUEST, replace(CLICK, event_id="k2", src="src:0:5"))
    clicks = run.results(CLICKS + 2, *MANY_CLICKS, replace(REQUEST, transaction_id="other", src="src:0:other"))
    state_size = run.state_size()
    later = T + brief.windows.horizon_ms + brief.watermark_slack_ms + 1_000
    run.results(2, replace(REQUEST, transaction_id="later", request_ts=later, src="src:0:9"))
    run.wait(lambda: run.total("numRowsRemoved"), "a removed transaction")
    left = run.query.recentProgress[-1].stateOperators[0].numRowsTotal
    return Observed(steps, repeats, clicks, state_size, run.total("numRowsRemoved"), left)


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


def test_state_of_a_transaction_ends_behind_the_watermark(observed: Observed) -> None:
    assert len({"t", "many", "other"}) == observed.removed
    assert len({"later"}) == observed.left


def test_micro_batch_mode_emits_all_results_of_a_transaction(spark: SparkSession) -> None:
    """In micro-batch mode one row can cover several events, so all results of the transaction are emitted."""
    events = [event for event, _ in CHANGED]
    values = [json.dumps(event_fields(event)).encode() for event in events]
    rows = [(value, datetime.now(UTC), 0, offset) for offset, value in enumerate(values)]
    records = spark.createDataFrame(rows, "value binary, timestamp timestamp, partition int, offset long")

    emitted = events_to_attributed(records, DemoSettings(trigger="micro-batch")).collect()

    assert rule(*events) == {row.key.decode(): Result(**json.loads(row.value)) for row in emitted}
