from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_rtm.realtime import control
from spark_rtm.realtime.latency import CLOCK_MS, METRIC, with_latency
from spark_rtm.realtime.queries import wait_until
from tests.helpers import new_topic, records_of
from tests.realtime.test_control import read, start, traffic, written

pytestmark = [pytest.mark.spark, pytest.mark.services]


def test_progress_has_the_percentiles_of_the_rows(spark: SparkSession, kafka: str, tmp_path: Path) -> None:
    """At 1,000 records/s, each row contains its own latency, and the sketch agrees with the exact percentiles."""
    source, target = new_topic(kafka, 2), new_topic(kafka, 2)
    rows = with_latency(read(spark, kafka, source))
    late = rows.selectExpr("key", f"cast(cast({CLOCK_MS} as bigint) - unix_millis(timestamp) as string) as value")
    query = start(late, kafka, target, tmp_path)
    control.commit(query)  # a batch without rows has no percentiles
    with traffic(kafka, source, at_once=10):
        wait_until(lambda: written(kafka, target) > 3_000, 60, "traffic", [query])
    control.stop(query)
    idle, progress = query.recentProgress[:2]
    assert {"count": 0, "P50": None, "P99": None, "max": None} == idle.observedMetrics[METRIC].asDict()
    reported = progress.observedMetrics[METRIC]
    values = sorted(int(record.value() or b"") for number in (0, 1) for record in records_of(kafka, target, number))
    exact = {"count": len(values), "P50": values[len(values) // 2], "P99": values[int(0.99 * len(values))]}

    assert reported["count"] == progress.numInputRows
    assert {"P50", "P99", "count", "max"} == set(reported.asDict())
    for name in ("P50", "P99"):
        assert abs(reported[name] - exact[name]) <= max(1, 0.05 * exact[name]), (name, reported, exact)
    assert abs(reported["max"] - values[-1]) <= 5
    assert reported["P50"] <= reported["P99"] <= reported["max"]
