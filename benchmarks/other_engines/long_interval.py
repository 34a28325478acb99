"""Measure the stateful engines once each at a commit interval of five minutes, the default."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from benchmarks.harness.baseline import BASELINE
from benchmarks.harness.benchmark import Outcome, outcome_of
from benchmarks.harness.plan import PlannedRun, run_plan
from benchmarks.harness.run import Case
from benchmarks.other_engines.cases import long_interval_cases
from benchmarks.other_engines.engine import OtherEngine
from benchmarks.other_engines.options import Options
from benchmarks.results.record_times import Traffic

STEM = "other_engines_interval"
MAX_BASELINE_SECONDS = 60.0
"""Maximum duration of the baseline, which commits nothing."""


def measure_long_interval(
    options: Options, engines: Sequence[OtherEngine], described: Mapping[str, Any], console: Console
) -> Outcome:
    """Run each engine once, one after another."""
    plan = long_interval_plan(options, engines)
    results = run_plan(plan, options.partitions, options.max_late_runs, console, max_foreign_cores=options.quiet_limit)
    return outcome_of(STEM, described, results, console, has_charts=False)


def long_interval_plan(options: Options, engines: Sequence[OtherEngine]) -> list[PlannedRun]:
    """Return one run of each selected case and rate."""
    cases = long_interval_cases(engines, options.interval_seconds)
    selected = [case for case in cases if options.is_selected(case.workload, case.engine)]
    return [PlannedRun(case, _traffic_of(case, traffic)) for traffic in options.traffics() for case in selected]


def _traffic_of(case: Case, traffic: Traffic) -> Traffic:
    if case.engine != BASELINE:
        return traffic
    return replace(traffic, duration_seconds=min(MAX_BASELINE_SECONDS, traffic.duration_seconds))
