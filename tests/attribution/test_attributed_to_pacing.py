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
from examples.attribution.settings import DemoSettings, Settings
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import wait_until
from tests.attribution.hops import HopClient, RunningHop
from tests.attribution.pacing.histories import generated
from tests.helpers import eventually

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

HISTORIES = 200
ON_BROKER = 40
T = 10_000
SLOT = Result("t/a", 2, "slot", "pending", "t", T, "c", T, "src:0:1", T, clock_skew=False)


def rows_of(counts: Iterable[CampaignCount]) -> dict[str, dict[str, Any]]:
    return {count.result_id: {"result_id": count.result_id, **asdict(count)} for count in counts}


def counted(spark: SparkSession, results: list[Result], settings: Settings) -> dict[str, dict[str, Any]]:
    records = spark.createDataFrame([(json.dumps(asdict(result)).encode(),) for result in results], "value binary")
    rows = attributed_to_pacing(records, settings).collect()
    by_id = {bytes(row.key).decode(): json.loads(row.value) for row in rows}
    assert len(rows) == len(by_id)
    return by_id


@pytest.mark.parametrize(
    ("shards", "seconds"), [(1, 1), (4, 1), (3, 2)], ids=["one shard", "default", "longer buckets"]
)
def test_sql_equals_rule_for_any_versions_in_any_order(spark: SparkSession, shards: int, seconds: int) -> None:
    spread = replace(DemoSettings(), pacing_shards=shards, pacing_bucket_seconds=seconds)
    emitted = [result for versions in generated(HISTORIES) for result in versions]
    random.Random(7).shuffle(emitted)

    counts = counted(spark, emitted, spread)

    assert rows_of(count_slots(emitted, spread)) == counts
    assert all(PACING.names == list(row) for row in counts.values())
    slots = [result for result in emitted if result.kind == "slot"]
    assert {"pending", "filled", "unfilled"} == {slot.code for slot in slots}
    # The comparison can fail: without the newest version of one slot, a count differs.
    newest = max(slots, key=lambda slot: slot.version)
    assert counts != rows_of(count_slots([r for r in emitted if r.result_id != newest.result_id], spread))


class PacingRun:
    def __init__(self, spark: SparkSession, kafka: str, settings: Settings, checkpoint: Path) -> None:
        self.settings = settings
        self.hop = RunningHop(spark, kafka, lambda rows: attributed_to_pacing(rows, settings), checkpoint)
        self.client = HopClient(kafka, settings.topic("ad-pacing"))
        self.start()

    def start(self) -> None:
        source, target = self.settings.topic("ad-attributed"), self.settings.topic("ad-pacing")
        self.hop.start([source], target, real_time=self.settings.trigger == "real-time")
        if self.settings.trigger == "real-time":
            assert_real_time(self.hop.query)

    def send(self, *results: Result) -> None:
        source = self.settings.topic("ad-attributed")
        self.client.send_all([(source, result.result_id, asdict(result)) for result in results])

    def progress(self, metric: str) -> int:
        self.hop.state_rows()
        return sum(getattr(p.stateOperators[0], metric) for p in self.hop.query.recentProgress)


def send_one_by_one(run: PacingRun) -> list[Result]:
    """Send versions of two slots, and compare the count that each version emits."""
    other = replace(SLOT, result_id="t/b")
    filled, empty = replace(SLOT, code="filled", version=4), replace(other, code="unfilled", version=3)
    sent: list[Result] = []
    expected = []
    for result in (SLOT, other, filled, filled, empty, replace(SLOT, code="unfilled", version=7), SLOT):
        run.send(result)
        sent.append(result)
        eventually(lambda: run.client.read() and len(run.client.rows) == len(sent), 60, f"a count for {result}")
        expected += count_slots(sent, run.settings)
    assert [{"result_id": count.result_id, **asdict(count)} for count in expected] == run.client.rows
    assert [(0, 1), (0, 2), (1, 1), (1, 1), (1, 0), (0, 0), (0, 0)] == [(c.delivered, c.reserved) for c in expected]
    return sent


@pytest.mark.services
@pytest.mark.parametrize("trigger", ["real-time", "micro-batch"])
def test_restart_and_duplicates_leave_the_counts_of_the_rule(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path, trigger: Any
) -> None:
    """In real-time mode every version of a slot emits its own count; a duplicate emits the known count again."""
    # The watermark slack keeps the buckets of the generated requests, whose times are far apart.
    run = PacingRun(spark, kafka, replace(settings, trigger=trigger), tmp_path / "checkpoint")
    emitted = [result for versions in generated(ON_BROKER) for result in versions]
    random.Random(7).shuffle(emitted)
    half = len(emitted) // 2

    first = send_one_by_one(run) if trigger == "real-time" else []
    run.send(*emitted[:half])
    eventually(run.hop.has_committed, 120, "a committed batch")
    run.hop.query.stop()
    run.start()
    run.send(*emitted[half:])

    expected = rows_of(count_slots([*first, *emitted], settings))
    wait_until(lambda: run.client.read() == expected, 120, "the counts of the rule", [run.hop.query])


@pytest.mark.services
def test_ended_bucket_drops_late_slots(spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path) -> None:
    """The state of a bucket expires when no event can change it; a later slot is dropped, not counted from zero."""
    brief = replace(settings, watermark_slack_ms=1_000, time_scale=1_000)
    run = PacingRun(spark, kafka, brief, tmp_path / "checkpoint")
    filled = replace(SLOT, code="filled", version=4)
    delay_ms = brief.windows.horizon_ms + brief.watermark_slack_ms + bucket_length_ms(brief)
    just_inside = replace(SLOT, result_id="i", request_ts=T + bucket_length_ms(brief))
    later = replace(SLOT, result_id="l", request_ts=T + delay_ms + bucket_length_ms(brief))
    run.send(filled, just_inside, later)
    eventually(lambda: run.progress("numRowsRemoved"), 120, "the end of a bucket")

    run.send(replace(SLOT, result_id="late"))
    run.send(replace(just_inside, code="unfilled", version=3))

    eventually(lambda: run.progress("numRowsDroppedByWatermark"), 120, "a dropped row")
    assert (1, 1, 2) == (
        run.progress("numRowsRemoved"),
        run.progress("numRowsDroppedByWatermark"),
        run.hop.state_rows(),
    )
    expected = rows_of(count_slots([filled, replace(just_inside, code="unfilled", version=3), later], brief))
    assert expected == run.client.read()
    assert {1} == set(Counter(row["result_id"] for row in run.client.rows if row["delivered"]).values())
