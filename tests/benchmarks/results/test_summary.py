import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from benchmarks.harness.benchmark import case_table
from benchmarks.results.run_result import Boundary, boundaries, key_of, median_phases, pause_ms
from benchmarks.results.summary import BASELINE, ratios, summarize
from tests.benchmarks.helpers import run_result
from tests.conftest import ROOT

RATIOS = "times_baseline", "speedup_over_micro_batch", "speedup_over_untuned"


@pytest.mark.parametrize("stem", ["latency", "throughput", "other_engines"])
def test_published_ratios_follow_from_the_published_runs(stem: str) -> None:
    """A published ratio cannot be changed without a change of the measured runs."""
    content = json.loads((ROOT / "references" / "measured" / f"{stem}.json").read_text())
    runs: dict[Any, list[dict[str, Any]]] = {}
    for run in content["runs"]:
        runs.setdefault(key_of(run), []).append(run)

    assert content["cases"]
    for case in content["cases"]:
        found = ratios(key_of(case), runs)
        # The results of runs before 2026-11-25 have no range.
        present = found.keys() & case.keys()
        assert len(present) >= len(RATIOS)
        assert {name: found[name] for name in present}.items() <= case.items()


def test_case_without_answers_has_no_times() -> None:
    silent = run_result("stateful", "micro-batch", [1])
    silent.numbers.update(records=0, outputs_per_record=0.0)
    silent = replace(silent, latency_us=silent.latency_us[:0])
    results = [run_result("echo", BASELINE, [1, 2, 3]), silent, run_result("stateful", "real-time", [2, 5, 90])]

    content = json.loads(json.dumps(summarize(results), allow_nan=False))

    cases = {case["engine"]: case for case in content["cases"]}
    assert (None, None) == (cases["micro-batch"]["p50_ms"], cases["real-time"]["speedup_over_micro_batch"])
    assert "-" in case_table(content["cases"]).columns[3].cells


def progress(started_at: float, took_ms: float, name: str = "copy_0") -> dict[str, Any]:
    """Return the progress of a batch in Spark's format."""
    return {
        "name": name,
        "timestamp": datetime.fromtimestamp(started_at, UTC).isoformat().replace("+00:00", "Z"),
        "durationMs": {"triggerExecution": took_ms, "addBatch": took_ms - 100, "walCommit": 40},
        "stateOperators": [{"commitTimeMs": 60, "customMetrics": {"rocksdbLoadLatencyMs": 20}}],
    }


def test_boundary_lasts_from_interval_end_to_batch_end() -> None:
    batches = [progress(1000, 2300), progress(1002.3, 900), progress(1003.2, 2100), progress(1000, 2300, "other")]

    found = boundaries(batches, {"copy_0": 2})

    assert [(1002.0, 1002.3), (1005.2, 1005.3)] == [(round(b.due_at, 3), round(b.ended_at, 3)) for b in found]
    expected = {"triggerExecution": 100, "addBatch": 0, "walCommit": 40}
    assert expected | {"state commit, all partitions": 60, "state load, all partitions": 20} == median_phases(found)


def test_pause_is_the_longest_wait_around_the_boundary() -> None:
    due_us = np.array([1_001_900_000, 1_002_100_000, 1_003_200_000, 1_003_400_000])
    latency_us = np.array([900_000, 300_000, 100_000, 800_000])

    assert 300.0 == pause_ms(Boundary(1002.0, 1002.3, {}), due_us, latency_us)
