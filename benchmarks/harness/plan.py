"""
Run the cases of a benchmark one after another on one broker.

Each repeat has a different order of cases, so a busy spell of the machine does not always hit the same engine.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rich.console import Console

from benchmarks.harness.run import Case, baseline_case, run_case
from benchmarks.results.run_result import RunResult, Traffic, busy_machine
from spark_rtm.services import kafka_broker

START_AND_END_SECONDS = 30.0
"""Minimum time of a run outside its traffic: engine start with empty batches, last outputs and verification."""


@dataclass(frozen=True)
class PlannedRun:
    """A case and the traffic of its run."""

    case: Case
    traffic: Traffic
    repeat: int = 1


def rotate(cases: Sequence[Case], traffics: Sequence[Traffic], repeats: int) -> list[PlannedRun]:
    """Return all combinations of case and traffic `repeats` times, each time starting with a different one."""
    runs = [(case, traffic) for traffic in traffics for case in cases]
    starts = [repeat * len(runs) // repeats for repeat in range(repeats)]
    return [
        PlannedRun(case, traffic, repeat)
        for repeat, start in enumerate(starts, 1)
        for case, traffic in (*runs[start:], *runs[:start])
    ]


def run_plan(
    plan: Sequence[PlannedRun],
    max_late_runs: int,
    console: Console,
    *,
    max_foreign_cores: float = math.inf,
) -> list[RunResult]:
    """Execute all runs in order on a separate broker, as `run_all` does. Raise RuntimeError if an engine fails."""
    if not plan:
        return []
    with warm_broker(plan[0].traffic, console) as run_one:
        return run_all(plan, run_one, max_late_runs, console, max_foreign_cores=max_foreign_cores)


RunOne = Callable[[Case, Traffic], RunResult]


@contextmanager
def warm_broker(traffic: Traffic, console: Console) -> Iterator[RunOne]:
    """Start a broker, send it the warm-up part of `traffic`, and yield a function that runs a case on it."""
    with kafka_broker() as bootstrap_servers:
        run_one = partial(run_case, bootstrap_servers)
        console.print("warming up the broker")
        # The JVM of a new broker has not compiled its code yet. Without this traffic, the first engine would appear
        # slow.
        run_one(baseline_case(), replace(traffic, duration_seconds=1))
        yield run_one


def run_all(
    plan: Sequence[PlannedRun],
    run_one: RunOne,
    max_late_runs: int,
    console: Console,
    *,
    max_foreign_cores: float = math.inf,
) -> list[RunResult]:
    """
    Execute all runs in order, and repeat a run with late records up to `max_late_runs` times.

    With `max_foreign_cores`, a run is also repeated if other programs used more cores. A run whose last attempt is
    disturbed as well is invalid.
    """
    results = list[RunResult]()
    for number, run in enumerate(plan, 1):
        late_runs, is_repeated = list[dict[str, Any]](), True
        minutes = sum(one.traffic.seconds + START_AND_END_SECONDS for one in plan[number - 1 :]) / 60
        name = f"{run.case.workload}, {run.case.engine}, {run.traffic.rate:g}/s"
        while is_repeated:
            console.print(f"{number}/{len(plan)} {name}; at least {minutes:.0f} min left")
            result = run_one(run.case, run.traffic)
            result.numbers["repeat"] = run.repeat
            result.problems.extend(busy_machine(result.numbers, max_foreign_cores))
            is_repeated = result.is_only_disturbed() and len(late_runs) < max_late_runs
            _show(console, result, "; this run will be repeated" if is_repeated else "")
            late_runs += [result.numbers] if is_repeated else []
        results.append(replace(result, late_runs=tuple(late_runs)))
    return results


def _show(console: Console, result: RunResult, suffix: str) -> None:
    numbers = result.numbers
    latencies = [f"{name} {numbers[f'{name}_ms']:,.1f}" for name in ("p50", "p99", "max") if numbers["records"]]
    console.print(f"  {numbers['workload']}, {numbers['engine']}: {' '.join(latencies)} ms")
    for problem in result.problems:
        console.print(f"  {problem}{suffix}", style="bold red", soft_wrap=True)
    for warning in busy_machine(numbers):
        console.print(f"  {warning}", style="yellow", soft_wrap=True)
