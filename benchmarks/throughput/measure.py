"""Find the highest rate that each mode sustains, and measure latency below that rate."""

from dataclasses import dataclass, replace

from rich.console import Console

from benchmarks.harness.benchmark import Outcome, RunOptions, conditions, outcome_of
from benchmarks.harness.plan import PlannedRun, find_limits, rotate, run_all, warm_broker
from benchmarks.results.run_result import Traffic
from benchmarks.spark.variants import variants

STEP_SECONDS = 20.0
"""Seconds of measured traffic at each rate of the search."""
LOAD_PERCENTS = (25, 50, 75)
"""Percentages of the highest sustained rate for the measurement of latency."""


@dataclass(frozen=True)
class Options(RunOptions):
    """Options for this benchmark. The default values configure a full run."""

    duration: float = 36
    warm_up_seconds: float = 40
    interval_seconds: float = 10
    repeats: int = 1
    rate: tuple[float, ...] = (2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
    """Rates that the search tries, in records per second, in ascending order."""


def measure(options: Options, console: Console) -> Outcome:
    """Search for the limit of each case, and measure its latency at fractions of the limit."""
    traffic = Traffic(options.rate[0], options.warm_up_seconds, options.duration)
    step = traffic if options.quick else replace(traffic, duration_seconds=STEP_SECONDS)
    cases = options.selected(variants(options.interval_seconds, quick=True))
    plan = list[PlannedRun]()
    with warm_broker(step, console) as run_one:
        found = find_limits(run_one, cases, options.rate, step, console)
        for case, limit in zip(cases, found["limits"], strict=True):
            # A mode that sustains no rate is not measured at fractions of a rate.
            rates = [limit["sustained_rate"] * percent / 100 for percent in LOAD_PERCENTS if limit["sustained_rate"]]
            plan += rotate([case], [replace(traffic, rate=rate) for rate in rates], options.repeats)
        results = run_all(plan, run_one, options.max_late_runs, console)
    described = {**conditions(options), "load_percents": LOAD_PERCENTS}
    return outcome_of("throughput", {"conditions": described, **found}, results, console)
