"""The correlation query on the broker: the results per event, and the removal of expired state."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.attribution.correlation.rule import Event, Result, correlate
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.settings import DemoSettings, Settings
from tests.attribution.correlation.histories import CLICK, IMPRESSION, REQUEST, T, changes
from tests.attribution.hops import Hop, sent_events

pytestmark = [pytest.mark.spark, pytest.mark.services]

CLICKS = 2_000
COPY = replace(IMPRESSION, src="src:0:j")
CHANGED = [(REQUEST, 2), (IMPRESSION, 2), (COPY, 1), (CLICK, 1)]
"""Events of a transaction, and the number of results that each of them changes."""
MANY_CLICKS = [replace(CLICK, transaction_id="many", event_id=f"k{n}", src=f"src:1:{n}") for n in range(CLICKS)]


class CorrelationHop(Hop):
    def results(self, count: int, *events: Event) -> list[Result]:
        """Send events, wait for the next `count` rows, and return them, sorted by result id."""
        known = len(self.emitted)
        self.send(sent_events(events), partition=0)
        self.wait(lambda: self.read() and len(self.emitted) >= known + count, f"{count} rows of results")
        return sorted((Result(**row) for row in self.emitted[known:]), key=lambda result: result.result_id)

    def state_size(self) -> int:
        batches = len(self.query.recentProgress)
        self.wait(lambda: len(self.query.recentProgress) > batches + 1, "a commit")
        rows = self.spark.read.format("statestore").load(str(self.folder / self.folder.name))
        return sum(len(str(row.value)) for row in rows.select("value").collect())


def test_event_emits_only_changed_results(spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path) -> None:
    """
    One row is emitted per changed result; a record that is processed again changes none.

    After 2,000 clicks of one transaction, another transaction is answered within a minute. The state of a transaction
    is removed when the watermark has passed it.
    """
    settings, max_events = replace(settings, watermark_slack_ms=1_000), settings.windows.max_events
    sources = [settings.topic("events")]
    hop = CorrelationHop(spark, kafka, lambda rows: events_to_attributed(rows, settings), tmp_path, sources)
    hop.run(5_000)

    for n, (event, changed) in enumerate(CHANGED, 1):
        expected = changes([one for one, _ in CHANGED[:n]], settings.windows)
        assert changed == len(expected)
        assert sorted(expected, key=lambda result: result.result_id) == hop.results(changed, event)
    (repeat,) = hop.results(1, IMPRESSION, REQUEST, replace(CLICK, event_id="k2", src="src:0:5"))
    assert "repeat_click" == repeat.code

    results = hop.results(CLICKS + 2, *MANY_CLICKS, replace(REQUEST, transaction_id="other", src="src:0:other"))
    too_many = {f"many/{T}/too_many_events/{click.src}" for click in MANY_CLICKS[max_events:]}
    assert too_many == {result.result_id for result in results if result.code == "too_many_events"}
    # A stored event has about 300 characters.
    assert hop.state_size() < 2 * 300 * max_events
    assert ["accepted", "pending"] == [result.code for result in results if result.transaction_id == "other"]

    later = T + settings.windows.horizon_ms + settings.watermark_slack_ms + 1_000
    hop.results(2, replace(REQUEST, transaction_id="later", request_ts=later, src="src:0:9"))
    hop.wait(lambda: hop.total("numRowsRemoved"), "a removed transaction")
    assert len({"t", "many", "other"}) == hop.total("numRowsRemoved")
    assert len({"later"}) == hop.query.recentProgress[-1].stateOperators[0].numRowsTotal


def test_micro_batch_mode_emits_all_results_of_a_transaction(spark: SparkSession) -> None:
    """In micro-batch mode one row can cover several events, so all results of the transaction are emitted."""
    events = [event for event, _ in CHANGED]
    rows = [(one.value, datetime.now(UTC), 0, offset) for offset, one in enumerate(sent_events(events))]
    records = spark.createDataFrame(rows, "value binary, timestamp timestamp, partition int, offset long")

    emitted = events_to_attributed(records, DemoSettings(trigger="micro-batch")).collect()

    expected = {result.result_id: result for result in correlate(events, DemoSettings().windows)}
    assert expected == {row.key.decode(): Result(**json.loads(row.value)) for row in emitted}
