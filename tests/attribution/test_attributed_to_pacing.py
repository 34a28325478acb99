import json
import random
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
from tests.attribution.hops import Hop, sent
from tests.attribution.pacing.histories import generated

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

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


@pytest.mark.parametrize(("shards", "seconds"), [(4, 1), (3, 2)], ids=["default", "longer buckets"])
def test_sql_equals_rule_for_any_versions_in_any_order(spark: SparkSession, shards: int, seconds: int) -> None:
    spread = replace(DemoSettings(), pacing_shards=shards, pacing_bucket_seconds=seconds)
    emitted = [result for versions in generated() for result in versions]
    random.Random(7).shuffle(emitted)

    counts = counted(spark, emitted, spread)

    assert rows_of(count_slots(emitted, spread)) == counts
    assert all(PACING.names == list(row) for row in counts.values())
    slots = [result for result in emitted if result.kind == "slot"]
    assert {"pending", "filled", "unfilled"} == {slot.code for slot in slots}
    # The comparison can fail: without the newest version of one slot, a count differs.
    newest = max(slots, key=lambda slot: slot.version)
    assert counts != rows_of(count_slots([r for r in emitted if r.result_id != newest.result_id], spread))


def send(hop: Hop, *results: Result) -> None:
    hop.send([sent(result.result_id, asdict(result)) for result in results])


def send_one_by_one(hop: Hop, settings: Settings) -> list[Result]:
    """Send versions of two slots, and compare the count that each version emits."""
    other = replace(SLOT, result_id="t/b")
    filled, empty = replace(SLOT, code="filled", version=4), replace(other, code="unfilled", version=3)
    known: list[Result] = []
    expected = []
    for result in (SLOT, other, filled, filled, empty, replace(SLOT, code="unfilled", version=7), SLOT):
        send(hop, result)
        known.append(result)
        hop.wait(lambda: hop.read() and len(hop.emitted) == len(known), f"a count for {result}")
        expected += count_slots(known, settings)
    assert [{"result_id": count.result_id, **asdict(count)} for count in expected] == hop.emitted
    assert [(0, 1), (0, 2), (1, 1), (1, 1), (1, 0), (0, 0), (0, 0)] == [(c.delivered, c.reserved) for c in expected]
    return known


@pytest.mark.services
def test_restart_duplicates_and_late_slots_leave_the_counts_of_the_rule(
    spark: SparkSession, kafka: str, settings: Settings, tmp_path: Path
) -> None:
    """
    Every version of a slot emits its own count, and a duplicate emits the known count again.

    The state of a bucket expires when no event can change it; a later slot is dropped, not counted from zero.
    """
    # The watermark delay contains half a bucket, so a watermark is never exactly at the start of a bucket.
    settings = replace(settings, watermark_slack_ms=settings.watermark_slack_ms + bucket_length_ms(settings) // 2)
    sources = [settings.topic("ad-attributed")]
    hop = Hop(spark, kafka, lambda rows: attributed_to_pacing(rows, settings), tmp_path, sources)
    emitted = [result for versions in generated()[:ON_BROKER] for result in versions]
    # Hypothesis may generate no slot after the first bucket, which would then not end.
    emitted.append(replace(SLOT, result_id="n", request_ts=T + 2 * bucket_length_ms(settings)))
    random.Random(7).shuffle(emitted)
    half = len(emitted) // 2
    hop.run()

    read = [*send_one_by_one(hop, settings), *emitted]
    send(hop, *emitted[:half])
    hop.wait(hop.has_committed, "a committed batch")
    hop.query.stop()
    hop.run()
    send(hop, *emitted[half:])
    hop.wait(lambda: hop.read() == rows_of(count_slots(read, settings)), "the counts of the rule")

    newest_bucket_ts = max(count.bucket_ts for count in count_slots(read, settings))
    ended = [count for count in count_slots(read, settings) if count.bucket_ts < newest_bucket_ts]
    just_inside = replace(SLOT, result_id="i", request_ts=newest_bucket_ts)
    delay_ms = settings.windows.horizon_ms + settings.watermark_slack_ms + bucket_length_ms(settings)
    read += [just_inside, replace(SLOT, result_id="l", request_ts=newest_bucket_ts + delay_ms - 500)]
    send(hop, *read[-2:])
    hop.wait(lambda: hop.total("numRowsRemoved"), "the end of the buckets")
    read.append(replace(just_inside, code="unfilled", version=3))
    send(hop, replace(SLOT, result_id="late"), read[-1])
    hop.wait(lambda: hop.total("numRowsDroppedByWatermark"), "a dropped row")
    assert (len(ended), 1) == (hop.total("numRowsRemoved"), hop.total("numRowsDroppedByWatermark"))
    expected = rows_of(count_slots(read, settings))
    hop.wait(lambda: hop.read() == expected, "the counts of the rule")
