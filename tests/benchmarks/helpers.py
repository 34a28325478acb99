from typing import Any

import numpy as np

from benchmarks.results.run_result import RunResult, Traffic
from spark_rtm.measure import percentiles_ms

SHORT = Traffic(rate=2000, warm_up_seconds=0.5, duration_seconds=1, drain_seconds=60)


def run_result(workload: str, engine: str, latency_ms: list[int], **others: Any) -> RunResult:
    latency_us = np.array(latency_ms) * 1000
    numbers = {"workload": workload, "engine": engine, "rate": 1000, "records": len(latency_us)}
    numbers |= {f"{name}_ms": value for name, value in percentiles_ms(latency_us).items()}
    numbers |= {"pauses_ms": [], "phases_ms": {}, "outputs_per_record": 1.0, **others}
    has_boundaries = engine.startswith("real-time")
    return RunResult(numbers, [], latency_us, has_boundaries=has_boundaries)


def assert_all_answered(result: RunResult) -> None:
    assert (0, 0) == (result.numbers["missing"], result.numbers["wrong"])
    assert all(result.latency_us > 0)
