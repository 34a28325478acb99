"""The pacing hop: its SQL equals the rule, on the broker too, and its buckets end."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from examples.attribution.attributed_to_pacing import PACING, attributed_to_pacing
from examples.attribution.correlation.rule import Result
from examples.attribution.pacing.rule import CampaignCount, bucket_length_ms, count_slots
from examples.attribution.settings import Settings
from examples.realtime.proof import assert_real_time
from examples.realtime.queries import wait_until
from tests.attribution.hops import Hop, Mailbox
from tests.attribution.pacing.histories import generated
from tests.helpers import eventually

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

HISTORIES = 400
ON_BROKER = 40
T = 10_000
SLOT = Result("t/a", 2, "slot", "pending", "t", T, "c", T, "src:0:1", T, clock_skew=False)


def rows_of(counts: Iterable[CampaignCount]) -> dict[str, dict[str, Any]]:
    """Return counts as they stand in the topic, by result id."""
    return {count.result_id: {"result_id": count.result_id, **asdict(count)} for count in counts}


def counted(spark: SparkSession, results: list[Result], settings: Settings) -> dict[str, dict[str, Any]]:
    """Return what the hop makes of `results` in one batch."""
    records = spark.createDataFrame([(json.dumps(asdict(result)).encode(),) for result in results], "value binary")
    rows = attributed_to_pacing(records, settings).collect()
    found = {bytes(row.key).decode(): json.loads(row.value) for row in rows}
    assert len(rows) == len(found)
    return found


@pytest.mark.parametrize(
    ("shards", "seconds"), [(1, 1), (4, 1), (3, 2)], ids=["one shard", "default", "longer buckets"]
)
def test_sql_and_rule_agree_on_any_versions_in_any_order(spark: SparkSession, shards: int, seconds: int) -> None:
    """Open, filled, empty, restated and repeated slots of many transactions count as the rule says."""
    own = replace(Settings(), pacing_shards=shards, pacing_bucket_seconds=seconds)
    emitted = [result for versions in generated(HISTORIES) for result in versions]
    random.Random(7).shuffle(emitted)

    found = counted(spark, emitted, own)

    assert rows_of(count_slots(emitted, own)) == found
    assert all(PACING.names == list(row) for row in found.values())
    slots = [result for result in emitted if result.kind == "slot"]
    assert {"pending", "filled", "unfilled"} == {slot.code for slot in slots}
    # The comparison can fail: one slot whose newest version is lost changes a count.
    newest = max(slots, key=lambda slot: slot.version)
    assert found != counted(spark, [result for result in emitted if result.result_id != newest.result_id], own)


class Pacing:
    """The running hop, with a way in and a way out."""

    def __init__(self, spark: SparkSession, kafka: str, settings: Settings, checkpoint: Path) -> None:
        """Start it."""
        self.settings = settings
        self.running = Hop(spark, kafka, lambda rows: attributed_to_pacing(rows, settings), checkpoint)
        self.box = Mailbox(kafka, settings.topic("ad-pacing"))
        self.start()

    def start(self) -> None:
        """Start the query, or start it again from its checkpoint."""
        source, target = self.settings.topic("ad-attributed"), self.settings.topic("ad-pacing")
        self.running.start([source], target, real_time=self.settings.trigger == "real-time")
        if self.settings.trigger == "real-time":
            assert_real_time(self.running.query)

    def send(self, result: Result) -> None:
        """Send a result as the earlier hops would."""
        self.box.send(self.settings.topic("ad-attributed"), result.result_id, asdict(result))

    def await_newest(self, expected: dict[str, dict[str, Any]]) -> None:
        """Wait until the newest counts are these, versions included."""
        wait_until(lambda: self.box.read() == expected, 120, "the counts of the rule", [self.running.query])

    def progress(self, metric: str) -> int:
        """Return the sum of a metric of the state over the last batches."""
        self.running.state_rows()
        return sum(getattr(p.stateOperators[0], metric) for p in self.running.query.recentProgress)


@pytest.mark.services
@pytest.mark.parametrize("trigger", ["real-time", "micro-batch"])
def test_a_restart_and_repeats_leave_the_counts_of_the_rule(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path, trigger: Any
) -> None:
    """After a restart in the middle the newest count of every group is the rule's, version included."""
    # The slack is what keeps the buckets of generated requests: they lie far apart in time of arrival.
    hop = Pacing(spark, kafka, replace(settings, trigger=trigger), tmp_path / "checkpoint")
    emitted = [result for versions in generated(ON_BROKER) for result in versions]
    random.Random(7).shuffle(emitted)
    half = len(emitted) // 2

    for result in emitted[:half]:
        hop.send(result)
    eventually(hop.running.has_committed, 120, "a committed batch")
    hop.running.query.stop()
    hop.start()
    for result in emitted[half:]:
        hop.send(result)

    expected = rows_of(count_slots(emitted, settings))
    hop.await_newest(expected)
    assert expected == hop.box.newest


@pytest.mark.services
def test_each_slot_gives_a_count_at_once(spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path) -> None:
    """In real-time mode every version of a slot is answered by itself, a repeat with what is known already."""
    hop = Pacing(spark, kafka, settings, tmp_path / "checkpoint")
    other = replace(SLOT, result_id="t/b")
    filled, empty = replace(SLOT, code="filled", version=4), replace(other, code="unfilled", version=3)
    sent: list[Result] = []
    answers = []

    for result in (SLOT, other, filled, filled, empty, replace(SLOT, code="unfilled", version=7), SLOT):
        hop.send(result)
        sent.append(result)
        eventually(lambda: hop.box.read() and len(hop.box.rows) == len(sent), 60, f"a count for {result}")
        answers += count_slots(sent, settings)

    assert [{"result_id": count.result_id, **asdict(count)} for count in answers] == hop.box.rows
    assert [(0, 1), (0, 2), (1, 1), (1, 1), (1, 0), (0, 0), (0, 0)] == [(a.delivered, a.reserved) for a in answers]


@pytest.mark.services
def test_a_bucket_that_has_ended_never_starts_again(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """Its state goes when no event can change it, and a straggler is dropped instead of counted from zero."""
    own = replace(settings, watermark_slack_ms=1_000, time_scale=1_000)
    hop = Pacing(spark, kafka, own, tmp_path / "checkpoint")
    filled = replace(SLOT, code="filled", version=4)
    delay_ms = own.windows.horizon_ms + own.watermark_slack_ms + bucket_length_ms(own)
    just_inside = replace(SLOT, result_id="i", request_ts=T + bucket_length_ms(own))
    later = replace(SLOT, result_id="l", request_ts=T + delay_ms + bucket_length_ms(own))
    for result in (filled, just_inside, later):
        hop.send(result)
    eventually(lambda: hop.progress("numRowsRemoved"), 120, "a bucket that has ended")

    hop.send(replace(SLOT, result_id="straggler"))
    hop.send(replace(just_inside, code="unfilled", version=3))

    eventually(lambda: hop.progress("numRowsDroppedByWatermark"), 120, "a straggler that is dropped")
    assert (1, 1, 2) == (
        hop.progress("numRowsRemoved"),
        hop.progress("numRowsDroppedByWatermark"),
        hop.running.state_rows(),
    )
    expected = rows_of(count_slots([filled, replace(just_inside, code="unfilled", version=3), later], own))
    assert expected == hop.box.read()
    assert {1} == set(Counter(row["result_id"] for row in hop.box.rows if row["delivered"]).values())
