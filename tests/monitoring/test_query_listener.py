"""The listener exports Databricks's latencies in both spellings, and for OSS the latencies from `with_latency`."""

import json

import pytest

from spark_rtm.monitoring.query_listener import latencies_of

FORMS = {
    "structured streaming": {"rtmMetrics": {"e2eLatencyMs": {"P0": 1, "P50": 5, "P99": 9}}},
    "pipelines": {"latencies": {"e2eLatencyMs": {"p0": 1, "p50": 5, "p99": 9}}},
}


@pytest.mark.parametrize("event", FORMS.values(), ids=FORMS)
def test_both_spellings_of_databricks_give_the_same_metrics(event: dict[str, object]) -> None:
    """A dashboard reads `p50`, whichever field and whichever case the runtime uses."""
    assert [("e2eLatencyMs", "p50", 5), ("e2eLatencyMs", "p99", 9)] == latencies_of(json.dumps(event))


def test_latencies_of_oss_are_those_of_the_observation() -> None:
    """A dashboard reads the same name on both engines; other observations of a query are not latencies."""
    observed = {"sourceQueuingLatencyMs": {"count": 3, "P50": 5, "P99": 9, "max": 9}, "checks": {"P50": 1}}
    expected = [("sourceQueuingLatencyMs", "p50", 5), ("sourceQueuingLatencyMs", "p99", 9)]
    assert expected == latencies_of(json.dumps({"observedMetrics": observed}))
    assert [] == latencies_of(json.dumps({"rtmMetrics": None, "observedMetrics": {}}))
