"""Statements of the pages that follow from the published measurements."""

import json

import pytest

from scripts.pack import files
from scripts.pack.tables.sizing import sizing
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
    """The formula of the page differs from the measured percentile by at most a quarter of the pause."""
    wait_ms = definition_of(files.ROOT / "references" / "latency.md", "wait_ms")
    pause_ms, interval_seconds = case["pause_median_ms"], 12

    expected_ms = case["p50_ms"] + wait_ms(percent, pause_ms, interval_seconds)

    assert case[f"p{percent:g}_ms"] == pytest.approx(expected_ms, abs=pause_ms / 4)


def cells_of_sizing() -> dict[tuple[str, str], list[str]]:
    """Return the cells of the sizing table after its first two, by records per second and workload."""
    rows = [line.strip("| ").split(" | ") for line in sizing(files.ROOT, "").splitlines()[4:]]
    return {(rate, workload): cells for rate, workload, *cells in rows}


def test_sizing_table_follows_from_the_measured_rates() -> None:
    """
    The limits of a task are 16,000 stateless and 3,000 stateful records/s; the table plans 75% to 25% of them.

    At 2,000 stateful records/s per task, a million records cost about 183 CPU seconds, so 10,000 records/s cost 1.8.
    """
    cells = cells_of_sizing()

    assert ["5 to 14", "10 to 28", "1.8 to 4.7", "80"] == cells["10,000", "stateful"]
    assert ["5 to 13", "5 to 13", "1.1 to 3.2", "200"] == cells["50,000", "stateless"]
    assert ["1", "1", "0.2", "4"] == cells["1,000", "stateless"]


def test_busy_cores_are_at_least_those_of_the_published_run() -> None:
    """At 1,000 records/s, `make bench-latency` measured 0.25 and 0.53 busy cores; the table must not show less."""
    for case in RUNS:
        if case["engine"] == "real-time" and case["workload"] in ("stateless", "stateful"):
            cores = cells_of_sizing()["1,000", case["workload"]][2].split(" to ")[0]

            assert float(cores) == pytest.approx(case["cpu_seconds_per_million"] / 1_000, abs=0.07)
