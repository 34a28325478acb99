"""
Compare Kafka Streams, Flink and Quix Streams with real-time mode and the baseline.

Run the benchmark with `make bench-other-engines`.
The program prints tables, and writes `other_engines.json` and its charts. With `--long-interval` it writes
`other_engines_interval.json`, with `--limits` `other_engines_limits.json`.
With `--publish`, the program waits until the machine is free, and repeats disturbed runs.
If an engine cannot be installed, the program ends with the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from benchmarks.harness.baseline import BASELINE
from benchmarks.harness.benchmark import Benchmark, Outcome, outcome_of
from benchmarks.harness.cli import conditions
from benchmarks.harness.plan import PlannedRun, rotate, run_plan, warm_broker
from benchmarks.harness.quiet import wait_until_quiet
from benchmarks.harness.rate_search import find_limits
from benchmarks.harness.run import Case
from benchmarks.other_engines.cases import OTHER_ENGINES, describe, engine_cases, limit_cases, long_interval_cases
from benchmarks.other_engines.engine import OtherEngine
from benchmarks.other_engines.options import PRESETS, Options
from benchmarks.results.record_times import Traffic
from benchmarks.results.validity import busy_machine

MAX_BASELINE_SECONDS = 60.0
"""Maximum duration of the baseline, which commits nothing."""


def measure(options: Options, console: Console, engines: Sequence[OtherEngine] = OTHER_ENGINES) -> Outcome:
    """Install the engines, and make one of the three measurements."""
    for engine in engines:
        engine.prepare()
    described = {"conditions": conditions(options), "other_engines": describe(engines)}
    if options.limits:
        return measure_limits(options, engines, described, console)
    if options.long_interval:
        return measure_long_interval(options, engines, described, console)
    return _measure_latency(options, engines, described, console)


def _measure_latency(
    options: Options, engines: Sequence[OtherEngine], described: Mapping[str, Any], console: Console
) -> Outcome:
    cases = [
        case
        for case in engine_cases(engines, options.interval_seconds, quick=options.quick)
        if options.is_selected(case.workload, case.engine)
    ]
    plan = rotate(cases, options.traffics(), options.repeats)
    results = run_plan(plan, options.partitions, options.max_late_runs, console, max_foreign_cores=options.quiet_limit)
    return outcome_of("other_engines", described, results, console)


def measure_long_interval(
    options: Options, engines: Sequence[OtherEngine], described: Mapping[str, Any], console: Console
) -> Outcome:
    """Run each engine once, one after another."""
    plan = long_interval_plan(options, engines)
    results = run_plan(plan, options.partitions, options.max_late_runs, console, max_foreign_cores=options.quiet_limit)
    return outcome_of("other_engines_interval", described, results, console, has_charts=False)


def long_interval_plan(options: Options, engines: Sequence[OtherEngine]) -> list[PlannedRun]:
    """Return one run of each selected case and rate."""
    cases = long_interval_cases(engines, options.interval_seconds)
    selected = [case for case in cases if options.is_selected(case.workload, case.engine)]
    return [PlannedRun(case, _traffic_of(case, traffic)) for traffic in options.traffics() for case in selected]


def _traffic_of(case: Case, traffic: Traffic) -> Traffic:
    if case.engine != BASELINE:
        return traffic
    return replace(traffic, duration_seconds=min(MAX_BASELINE_SECONDS, traffic.duration_seconds))


def measure_limits(
    options: Options, engines: Sequence[OtherEngine], described: Mapping[str, Any], console: Console
) -> Outcome:
    """
    Search for the highest rate that each engine sustains, on the same ladder of rates.

    The warm-up has the same rate at each step. Otherwise, records would queue up before an engine with uncompiled code,
    and the queue would hide whether the engine keeps up afterwards.
    """
    cases = limit_cases(engines, options.interval_seconds)
    cases = [case for case in cases if options.is_selected(case.workload, case.engine)]
    if options.quiet_limit is not None:
        wait_until_quiet(console, options.quiet_limit)
    traffic = options.traffics()[0]
    with warm_broker(traffic, options.partitions, console) as servers:
        limits, steps = find_limits(
            *(servers, cases, options.rate, traffic, options.partitions, console),
            max_foreign_cores=options.quiet_limit,
        )
    problems = [] if options.quiet_limit is None else limit_problems(steps, options.quiet_limit)
    return Outcome("other_engines_limits", {**described, "limits": limits, "steps": steps}, problems)


def limit_problems(steps: Sequence[Mapping[str, Any]], max_foreign_cores: float) -> list[str]:
    """Return a message for each step that an engine may have failed only because other programs were busy."""
    return [
        f"{step['workload']}, {step['engine']}, {step['rate']:g}/s: {problem}"
        for step in steps
        if not step["sustained"]
        for problem in busy_machine(step, max_foreign_cores)
    ]


BENCHMARK = Benchmark(
    "other-engines",
    __doc__,
    Options,
    measure,
    example="--quick --filter echo --filter Flink --filter real-time",
    presets=PRESETS,
)
