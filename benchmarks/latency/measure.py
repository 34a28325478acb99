"""
Measure the latency of Spark's execution modes, the baseline, and two copies of a query.

With `--quick`, the benchmark measures the baseline and two modes, once each.
"""

from dataclasses import dataclass

from rich.console import Console

from benchmarks.harness.benchmark import QUICK_RUN, Outcome, RunOptions, conditions, outcome_of
from benchmarks.harness.plan import rotate, run_plan
from benchmarks.results.run_result import Traffic
from benchmarks.results.summary import BASELINE
from benchmarks.spark.variants import variants

QUICK_ENGINES = {BASELINE, "real-time", "micro-batch"}
QUICK_NOTE = (
    "This is a short run: it measures the baseline and two modes, with and without state, once each. Compare the p50: "
    "p99 and the maximum are higher than in a full run, because a batch ends every {seconds:g} s instead of every "
    "five minutes. For numbers to quote, run `make bench`."
)
PRESETS = {"quick": QUICK_RUN | {"warm_up_seconds": 20}}


@dataclass(frozen=True)
class Options(RunOptions):
    """Options for this benchmark. The default values configure a full run."""

    duration: float = 50
    rate: float = 1_000
    """Records per second."""


def measure(options: Options, console: Console) -> Outcome:
    """Measure each mode on each workload."""
    cases = variants(options.interval_seconds, quick=options.quick)
    cases = [case for case in cases if case.engine in QUICK_ENGINES] if options.quick else cases
    traffic = Traffic(options.rate, options.warm_up_seconds, options.duration)
    plan = rotate(options.selected(cases), [traffic], options.repeats)
    results = run_plan(plan, options.max_late_runs, console)
    outcome = outcome_of("latency", {"conditions": conditions(options)}, results, console)
    if options.quick:
        console.print(QUICK_NOTE.format(seconds=options.interval_seconds), style="yellow", soft_wrap=True)
    return outcome
