"""
Compute the numbers of one run from its raw times.

Rows and samples arrive; numbers by name leave, latencies in milliseconds.
The append times of a broker are whole milliseconds, so below two of them only user latency can tell engines apart.
"""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from examples.benchmarks.harness.load_generator import Rows, Traffic
from examples.benchmarks.harness.resources import Samples
from examples.measure.percentiles import percentiles, percentiles_ms


def latencies(rows: Rows, counted: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Return user latency, from due to received, and engine latency, between two clock readings of the broker."""
    if not counted.any():
        return {"records": 0}
    in_engine = (rows.answer_appended_ms - rows.appended_ms)[counted]
    percents = dict(zip(("p50", "p99"), percentiles(in_engine, (0.5, 0.99)), strict=True))
    seconds = (rows.received_us[counted].max() - rows.due_us[counted].min()) / 1e6
    return {
        "records": int(counted.sum()),
        **{f"{name}_ms": value for name, value in percentiles_ms((rows.received_us - rows.due_us)[counted]).items()},
        **{f"engine_{name}_ms": value for name, value in percents.items()},
        "negative": int((in_engine < 0).sum()),
        "answers_per_second": round(int(counted.sum()) / seconds, 1),
    }


def resources(samples: Samples, start: float, end: float, records: int) -> dict[str, Any]:
    """Return what the engine used of the machine between two times, and what others did."""
    seconds = samples.used(samples.engine, start, end)
    return {
        "engine_cores": round(seconds / (end - start), 3),
        "cpu_s_per_million": round(1e6 * seconds / records, 1) if records else None,
        "engine_mb": round(max(samples.engine_bytes, default=0) / 2**20),
        "foreign_cores": round(samples.foreign_cores(start, end), 2),
        "load_average": round(os.getloadavg()[0], 1),
    }


def generator(rows: Rows, traffic: Traffic) -> dict[str, Any]:
    """Return whether records were sent when they were due, and how long the sender's machine paused."""
    chosen = rows.measured(traffic)
    sent, due = rows.sent_us[chosen], rows.due_us[chosen]
    # Of n records n - 1 spaces lie between the first and the last.
    share = (due[-1] - due[0]) / max(1, sent[-1] - sent[0])
    lag = percentiles_ms(sent - due)
    pauses = percentiles_ms(rows.pauses_us)
    return {
        "achieved_share": round(float(share), 5),
        **{f"lag_{name}_ms": lag[name] for name in ("p50", "p99", "max")},
        **{f"pause_{name}_ms": pauses[name] for name in ("p99", "max")},
    }
