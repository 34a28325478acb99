"""The functions of the latency page: one reads both forms in which Databricks documents its latencies."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from scripts.pack import files
from tests.pages.examples import definition_of

PAGE = files.ROOT / "references/latency.md"
CASES = json.loads((files.ROOT / "references/measured/latency.json").read_text())["cases"]
RUNS = [case for case in CASES if case["engine"] in ("real-time", "real-time, untuned")]


def latencies_of(event: dict[str, Any]) -> object:
    return definition_of(PAGE, "latencies_of")(SimpleNamespace(json=json.dumps(event)))


@pytest.mark.parametrize(
    "event",
    [
        {"rtmMetrics": {"e2eLatencyMs": {"P0": 1, "P50": 5, "P99": 9}}},
        {"rtmMetrics": None, "latencies": {"e2eLatencyMs": {"p0": 1, "p50": 5, "p99": 9}}},
    ],
)
def test_both_documented_forms_have_the_same_keys(event: dict[str, Any]) -> None:
    """A caller reads `p50`, whichever field and whichever case the runtime uses."""
    assert {"e2eLatencyMs": {"p0": 1, "p50": 5, "p99": 9}} == latencies_of(event)


@pytest.mark.parametrize("event", [{}, {"rtmMetrics": None}])
def test_event_without_latencies_gives_no_latencies(event: dict[str, Any]) -> None:
    """An event of OSS 4.3.0, and one of a micro-batch query on Databricks, has no latencies."""
    assert {} == latencies_of(event)


@pytest.mark.parametrize("percent", [99, 99.9])
@pytest.mark.parametrize("case", RUNS, ids=lambda case: f"{case['workload']}, {case['engine']}")
def test_wait_at_a_percentile_follows_from_pause_and_interval(case: dict[str, float], percent: float) -> None:
    wait_ms = definition_of(PAGE, "wait_ms")
    pause_ms, interval_seconds = case["pause_median_ms"], 12

    expected_ms = case["p50_ms"] + wait_ms(percent, pause_ms, interval_seconds)

    assert case[f"p{percent:g}_ms"] == pytest.approx(expected_ms, abs=pause_ms / 4)
