"""
Search for the highest rate that each engine sustains, on the same ladder of rates.

The warm-up has the same rate at each step. Otherwise, records would queue up before an engine with uncompiled code, and
the queue would hide whether the engine keeps up afterwards.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from benchmarks.harness.benchmark import Outcome
from benchmarks.harness.plan import warm_broker
from benchmarks.harness.quiet import wait_until_quiet
from benchmarks.harness.rate_search import find_limits
from benchmarks.other_engines.cases import limit_cases
from benchmarks.other_engines.engine import OtherEngine
from benchmarks.other_engines.options import Options
from benchmarks.results.validity import busy_machine

STEM = "other_engines_limits"


def measure_limits(
    options: Options, engines: Sequence[OtherEngine], described: Mapping[str, Any], console: Console
) -> Outcome:
    """Search for the limit of each engine."""
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
    return Outcome(STEM, {**described, "limits": limits, "steps": steps}, problems)


def limit_problems(steps: Sequence[Mapping[str, Any]], max_foreign_cores: float) -> list[str]:
    """Return steps that an engine may have failed only because other programs were busy."""
    return [
        f"{step['workload']}, {step['engine']}, {step['rate']:g}/s: {problem}"
        for step in steps
        if not step["sustained"]
        for problem in busy_machine(step, max_foreign_cores)
    ]
