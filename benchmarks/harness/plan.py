"""
Run the cases of a benchmark one after another on one broker.

Each repeat has a different order of cases, so a busy spell of the machine does not always hit the same engine. A
disturbed run is repeated, and its result also contains the disturbed attempt.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console

from benchmarks.harness.baseline import baseline_case
from benchmarks.harness.quiet import wait_until_quiet
from benchmarks.harness.run import Case, run_case
from benchmarks.results.record_times import Traffic
from benchmarks.results.run_result import RunResult
from benchmarks.results.validity import busy_machine
from spark_rtm.services import kafka_broker

START_AND_END_SECONDS = 30.0
"""Minimum time of a run outside its traffic: engine start with empty batches, last outputs and verification."""
WIDTH = 160


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


def show_run(console: Console, plan: Sequence[PlannedRun], number: int) -> None:
    """Print the number of the next run, and the minimum time of the remaining plan."""
    case, traffic = plan[number - 1].case, plan[number - 1].traffic
    minutes = sum(one.traffic.seconds + START_AND_END_SECONDS for one in plan[number - 1 :]) / 60
    name = f"{case.workload}, {case.engine}, {traffic.rate:g}/s"
    console.print(f"{number}/{len(plan)} {name}; at least {minutes:.0f} min left")


def show_result(console: Console, result: RunResult, *, is_repeated: bool) -> None:
    """Print a run's result and problems, and whether it will be repeated."""
    numbers = result.numbers
    latencies = [f"{name} {numbers[f'{name}_ms']:,.1f}" for name in ("p50", "p99", "max") if numbers["records"]]
    console.print(f"  {numbers['workload']}, {numbers['engine']}: {' '.join(latencies)} ms")
    suffix = "; this run will be repeated" if is_repeated else ""
    problems = ((f"{problem}{suffix}", "bold red") for problem in result.problems)
    for text, style in (*problems, *((warning, "yellow") for warning in result.warnings)):
        console.print(f"  {text}", style=style, soft_wrap=True)


def run_plan(
    plan: Sequence[PlannedRun],
    partitions: int,
    max_late_runs: int,
    console: Console,
    *,
    max_foreign_cores: float | None = None,
) -> list[RunResult]:
    """
    Execute all runs in order on a separate broker. Raise RuntimeError if an engine fails.

    With `max_foreign_cores`, wait before the first run until other programs use at most this number of cores.
    """
    if not plan:
        return []
    if max_foreign_cores is not None:
        wait_until_quiet(console, max_foreign_cores)
    with warm_broker(plan[0].traffic, partitions, console) as bootstrap_servers:
        return run_on_broker(
            bootstrap_servers, plan, partitions, max_late_runs, console, max_foreign_cores=max_foreign_cores
        )


@contextmanager
def warm_broker(traffic: Traffic, partitions: int, console: Console) -> Iterator[str]:
    """Start a broker, send it the warm-up part of `traffic`, and yield its address."""
    with kafka_broker() as bootstrap_servers:
        console.print("warming up the broker")
        # The JVM of a new broker has not compiled its code yet. Without this traffic, the first engine would appear
        # slow.
        run_case(bootstrap_servers, baseline_case(), replace(traffic, duration_seconds=1), partitions)
        yield bootstrap_servers


def run_on_broker(
    bootstrap_servers: str,
    plan: Sequence[PlannedRun],
    partitions: int,
    max_late_runs: int,
    console: Console,
    *,
    max_foreign_cores: float | None = None,
) -> list[RunResult]:
    """
    Execute all runs in order, and repeat a run with late records up to `max_late_runs` times.

    With `max_foreign_cores`, a run is also repeated if other programs used more cores. A run whose last attempt is
    disturbed as well is invalid.
    """
    results = list[RunResult]()
    for number, run in enumerate(plan, 1):
        late_runs, is_repeated = list[dict[str, Any]](), True
        while is_repeated:
            if late_runs and max_foreign_cores is not None:
                wait_until_quiet(console, max_foreign_cores)
            show_run(console, plan, number)
            result = run_case(bootstrap_servers, run.case, run.traffic, partitions)
            result.numbers["repeat"] = run.repeat
            if max_foreign_cores is not None:
                result.problems.extend(busy_machine(result.numbers, max_foreign_cores))
            is_repeated = result.is_only_disturbed() and len(late_runs) < max_late_runs
            show_result(console, result, is_repeated=is_repeated)
            late_runs += [result.numbers] if is_repeated else []
        results.append(replace(result, late_runs=tuple(late_runs)))
    return results


def plain_console() -> Console:
    """Return a console that is wide enough for tables, even without a terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=WIDTH, highlight=False)
