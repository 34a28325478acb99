import json

import pytest

from scripts.pack import files
from tests.pages.examples import definition_of

MEASURED = files.ROOT / "references" / "measured"
RUNS = [
    case
    for case in json.loads((MEASURED / "latency.json").read_text())["cases"]
    if case["engine"] in ("real-time", "real-time, untuned")
]


@pytest.mark.parametrize("percent", [99, 99.9])
@pytest.mark.parametrize("case", RUNS, ids=lambda case: f"{case['workload']}, {case['engine']}")
def test_wait_at_a_percentile_follows_from_pause_and_interval(case: dict[str, float], percent: float) -> None:
    wait_ms = definition_of(files.ROOT / "references" / "latency.md", "wait_ms")
    pause_ms, interval_seconds = case["pause_median_ms"], 12

    expected_ms = case["p50_ms"] + wait_ms(percent, pause_ms, interval_seconds)

    assert case[f"p{percent:g}_ms"] == pytest.approx(expected_ms, abs=pause_ms / 4)
