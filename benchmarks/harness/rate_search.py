"""Find the highest rate that an engine sustains. Latency at this rate only shows the queue before the engine."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.harness.plan import RunOne
from benchmarks.harness.run import Case
from benchmarks.results.run_result import MIN_ACHIEVED_SHARE, RunResult, Traffic, late_sending
from spark_rtm.measure.percentiles import percentiles

STEP_FIELDS = (
    *("workload", "engine", "rate", "p50_ms", "p99_ms", "lag_p99_ms"),
    *("missing", "wrong", "achieved_share", "engine_cores", "foreign_cores"),
)
"""Result fields that are stored for each tested rate."""
MAX_TRIES = 2
"""
Tries per rate. A pause of the machine makes only one late; an engine that leaves no CPU time makes all of them late.
"""
MAX_GROWTH_MS = 250.0
"""Allowed increase of the median latency from the first to the last quarter of a step, for pauses of the machine."""
MAX_FINAL_MS = 1_000.0
"""
Maximum median latency in the last quarter of a step. A longer queue lasts beyond the last record. From then on, the
engine also has the load generator's share of CPU time, so latency falls although the engine never kept up.
"""


def is_sustained(result: RunResult) -> bool:
    """Return whether all outputs are correct, records were sent on time and at the rate, and the queue did not grow."""
    numbers = result.numbers
    is_too_slow = numbers["achieved_share"] < MIN_ACHIEVED_SHARE
    if late_sending(numbers) or numbers["missing"] or numbers["wrong"] or is_too_slow:
        return False
    first_ms, *_, last_ms = (percentiles(part, [0.5])[0] / 1000 for part in np.array_split(result.latency_us, 4))
    return last_ms - first_ms <= MAX_GROWTH_MS and last_ms <= MAX_FINAL_MS


def highest_rate(rates: Iterable[float], keeps_up: Callable[[float], bool]) -> float:
    """Return the highest sustained rate. The midpoint between it and the first failed rate is tested once."""
    sustained = 0.0
    for rate in rates:
        if not keeps_up(rate):
            midpoint = (sustained + rate) / 2
            return midpoint if keeps_up(midpoint) else sustained
        sustained = rate
    return sustained


def find_limits(
    run_one: RunOne, cases: Sequence[Case], rates: Sequence[float], traffic: Traffic, console: Console
) -> dict[str, list[dict[str, Any]]]:
    """Return the `limits`: the highest sustained rate of each case, or 0; and the `steps`: each tested rate."""
    steps = list[dict[str, Any]]()

    def keeps_up(case: Case, rate: float) -> bool:
        for _ in range(MAX_TRIES):
            result = run_one(case, replace(traffic, rate=rate))
            # Late sending cannot cause wrong outputs.
            if is_sustained(result) or not late_sending(result.numbers) or result.numbers["wrong"]:
                break
        steps.append({name: result.numbers.get(name) for name in STEP_FIELDS} | {"sustained": is_sustained(result)})
        outcome = "sustained" if steps[-1]["sustained"] else "fell behind"
        p50_ms = f"{result.numbers.get('p50_ms', 0):,.1f}"
        console.print(f"{case.workload}, {case.engine}, {rate:g}/s: {outcome}, p50 {p50_ms} ms")
        return bool(steps[-1]["sustained"])

    limits = [
        {"workload": c.workload, "engine": c.engine, "sustained_rate": highest_rate(rates, partial(keeps_up, c))}
        for c in cases
    ]
    return {"limits": limits, "steps": steps}
