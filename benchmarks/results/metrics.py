"""
Compute the metrics of one run from its raw timestamps.

Kafka append times are whole milliseconds, so only user latency can distinguish engines below 2 ms.
"""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.results.record_times import RecordTimes, Traffic
from spark_rtm.measure.cpu import ResourceSamples
from spark_rtm.measure.percentiles import percentiles, percentiles_ms


def latencies(times: RecordTimes, counted: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Return user latency (due time to receipt of the output) and engine latency (input append to output append)."""
    if not counted.any():
        return {"records": 0}
    engine_ms = (times.answer_appended_ms - times.appended_ms)[counted]
    engine_p50_ms, engine_p99_ms = percentiles(engine_ms, (0.5, 0.99))
    seconds = (times.received_us[counted].max() - times.due_us[counted].min()) / 1e6
    user_ms = percentiles_ms((times.received_us - times.due_us)[counted])
    return {
        "records": int(counted.sum()),
        **{f"{name}_ms": value for name, value in user_ms.items()},
        "engine_p50_ms": engine_p50_ms,
        "engine_p99_ms": engine_p99_ms,
        "negative": int((engine_ms < 0).sum()),
        "answers_per_second": round(int(counted.sum()) / seconds, 1),
    }


def resources(samples: ResourceSamples, start: float, end: float, records: int) -> dict[str, Any]:
    """Return the engine's CPU time and memory between two times, and the cores of other programs."""
    cpu_seconds = samples.engine_seconds(start, end)
    return {
        "engine_cores": round(cpu_seconds / (end - start), 3),
        "cpu_seconds_per_million": round(1e6 * cpu_seconds / records, 1) if records else None,
        "engine_mb": round(max(samples.engine_bytes, default=0) / 2**20),
        "foreign_cores": round(samples.foreign_cores(start, end), 2),
        "load_average": round(os.getloadavg()[0], 1),
    }


def load_generator(times: RecordTimes, traffic: Traffic) -> dict[str, Any]:
    """Return the load generator's measured rate and lag, and its excess sleep."""
    measured = times.measured(traffic)
    sent_us, due_us = times.sent_us[measured], times.due_us[measured]
    # There are n - 1 gaps between n records.
    share = (due_us[-1] - due_us[0]) / max(1, sent_us[-1] - sent_us[0])
    lag_ms = percentiles_ms(sent_us - due_us)
    oversleep_ms = percentiles_ms(times.oversleep_us)
    return {
        "achieved_share": round(float(share), 5),
        **{f"lag_{name}_ms": lag_ms[name] for name in ("p50", "p99", "max")},
        **{f"oversleep_{name}_ms": oversleep_ms[name] for name in ("p99", "max")},
    }
