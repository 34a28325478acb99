"""
Measure the latency of Spark's execution modes, of the baseline, and of two copies of a query.

Run the benchmark with `make bench-latency`.
With `--quick`, it measures the baseline and two modes, once each and in one session.
"""

from contextlib import ExitStack
from dataclasses import dataclass, replace

from rich.console import Console

from benchmarks.harness.baseline import BASELINE, baseline_case
from benchmarks.harness.benchmark import Benchmark, Outcome, outcome_of
from benchmarks.harness.cli import RunOptions, conditions
from benchmarks.harness.plan import (
    PlannedRun,
    alternate,
    run_on_broker,
    run_plan,
    warm_broker,
)
from benchmarks.results.record_times import Arrivals, Traffic
from benchmarks.results.run_result import RunResult
from benchmarks.spark.quick import in_session, quick_cases, quick_traffic, shared_session
from benchmarks.spark.variants import variants

QUICK_RUN = {"duration": 9, "warm_up_seconds": 20, "interval_seconds": 2, "repeats": 1}
QUICK_WARM_UP_RATE = 2_000.0
QUICK_NOTE = (
    "This is a short run: it measures the baseline and two modes, with and without state, once each. Compare the p50: "
    "p99 and the maximum are higher than in a full run, because a batch ends every {seconds:g} s instead of every "
    "five minutes. For numbers to quote, run `make bench`."
)


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of this benchmark. The default values configure a full run."""

    duration: float = 50
    warm_up_seconds: float = 100
    interval_seconds: float = 12
    repeats: int = 3
    rate: float = 1_000
    """Records per second."""
    arrivals: tuple[Arrivals, ...] = ("constant",)
    """Distribution of the time gaps between records. Several values are measured in sequence."""


def measure(options: Options, console: Console) -> Outcome:
    """Measure each mode on each workload."""
    note = QUICK_NOTE.format(seconds=options.interval_seconds) if options.quick else ""
    if note:
        console.print(note, style="yellow", soft_wrap=True)
    results = _quick_results(options, console) if options.quick else _results(options, console)
    outcome = outcome_of("latency", {"conditions": conditions(options)}, results, console)
    if note:
        console.print(note, style="yellow", soft_wrap=True)
    return outcome


def _results(options: Options, console: Console) -> list[RunResult]:
    cases = [case for case in variants(options.interval_seconds) if options.is_selected(case.workload, case.engine)]
    plan = alternate(cases, _traffics(options), options.repeats)
    return run_plan(plan, options.partitions, options.max_late_runs, console)


def _quick_results(options: Options, console: Console) -> list[RunResult]:
    """Measure all modes in one session, which starts while the broker is warmed up."""
    traffics = [replace(traffic, warm_up_rate=QUICK_WARM_UP_RATE) for traffic in _traffics(options)]
    cases = [case for case in quick_cases(options.interval_seconds) if options.is_selected(case.workload, case.engine)]
    if not cases:
        return []
    with ExitStack() as stack:
        # The baseline needs no session.
        session = stack.enter_context(shared_session()) if any(case.engine != BASELINE for case in cases) else None
        if session:
            cases = [case if case.engine == BASELINE else in_session(session, case) for case in cases]
        plan = [PlannedRun(case, quick_traffic(case, traffic)) for traffic in traffics for case in cases]
        warm_up = quick_traffic(baseline_case(), traffics[0])
        servers = stack.enter_context(warm_broker(warm_up, options.partitions, console))
        if session:
            session.wait_until_started()
        return run_on_broker(servers, plan, options.partitions, options.max_late_runs, console)


def _traffics(options: Options) -> list[Traffic]:
    return [Traffic(options.rate, options.warm_up_seconds, options.duration, arrivals) for arrivals in options.arrivals]


BENCHMARK = Benchmark(
    "latency", __doc__, Options, measure, example="--quick --filter stateful", presets={"quick": QUICK_RUN}
)
