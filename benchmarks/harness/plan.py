"""
Run the cases of a benchmark one after another on one broker, or find the highest rate that each case sustains.

Each repeat has a different order of cases, so a period of high load does not always affect the same engine.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.harness.run import Case, baseline_case, run_case
from benchmarks.results.run_result import MIN_ACHIEVED_SHARE, RunResult, Traffic, busy_machine, late_sending
from spark_rtm.measure import percentiles
from spark_rtm.measure.cpu import OtherPrograms
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services import kafka_broker

START_AND_END_SECONDS = 30.0
"""Minimum time of a run outside its traffic: engine start with empty batches, last outputs and verification."""
STEP_FIELDS = (
    *("workload", "engine", "rate", "p50_ms", "p99_ms", "lag_p99_ms"),
    *("missing", "wrong", "achieved_share", "engine_cores", "foreign_cores"),
)
"""Result fields that are stored for each tested rate."""
PROBE_SECONDS, MAX_WAIT_SECONDS = 4.0, 600.0
MAX_TRIES = 2
"""
Number of tries per rate. If the machine pauses, the load generator sends records late in only one try. If the engine
leaves it no CPU time, it sends records late in every try.
"""
MAX_GROWTH_MS = 250.0
"""Allowed increase of the median latency from the first to the last quarter of a step, as the machine can pause."""
MAX_FINAL_MS = 1_000.0
"""
Maximum median latency in the last quarter of a step. With a higher latency, the engine still has waiting records when
the load generator has sent the last one. The engine then also gets the load generator's share of CPU time, so latency
falls, although the engine never kept up with the rate.
"""


@dataclass(frozen=True)
class PlannedRun:
    """A case and the traffic of its run."""

    case: Case
    traffic: Traffic
    repeat: int = 1


def rotate(cases: Sequence[Case], traffics: Sequence[Traffic], repeats: int) -> list[PlannedRun]:
    """Return all combinations of case and traffic `repeats` times, each time starting with a different combination."""
    runs = [(case, traffic) for traffic in traffics for case in cases]
    starts = [repeat * len(runs) // repeats for repeat in range(repeats)]
    return [
        PlannedRun(case, traffic, repeat)
        for repeat, start in enumerate(starts, 1)
        for case, traffic in (*runs[start:], *runs[:start])
    ]


def run_plan(
    plan: Sequence[PlannedRun], max_late_runs: int, console: Console, max_foreign_cores: float = math.inf
) -> list[RunResult]:
    """Start a broker and execute all runs on it in order, as `run_all` does. Raise RuntimeError if an engine fails."""
    with warm_broker(plan[0].traffic, console, max_foreign_cores) as run_one:
        return run_all(plan, run_one, max_late_runs, console, max_foreign_cores)


RunOne = Callable[[Case, Traffic], RunResult]


@contextmanager
def warm_broker(traffic: Traffic, console: Console, max_foreign_cores: float = math.inf) -> Iterator[RunOne]:
    """
    Start a broker, send it the warm-up part of `traffic`, and yield a function that runs a case on it.

    With `max_foreign_cores`, wait until other programs use at most this number of cores.
    """
    if max_foreign_cores < math.inf:
        console.print(f"waiting until other programs use at most {max_foreign_cores:g} cores")
        wait_until(lambda: foreign_cores() <= max_foreign_cores, MAX_WAIT_SECONDS, "other programs to use fewer cores")
    with kafka_broker() as bootstrap_servers:
        run_one = partial(run_case, bootstrap_servers)
        console.print("warming up the broker")
        # The JVM of a new broker has not compiled its code yet. Without this traffic, the first engine would appear
        # slow.
        run_one(baseline_case(), replace(traffic, duration_seconds=1))
        yield run_one


def foreign_cores() -> float:
    """Return the number of cores that other programs use now, measured for a few seconds."""
    programs, started_at = OtherPrograms(), time.monotonic()
    threading.Event().wait(PROBE_SECONDS)
    return programs.used() / (time.monotonic() - started_at)


def run_all(
    plan: Sequence[PlannedRun],
    run_one: RunOne,
    max_late_runs: int,
    console: Console,
    max_foreign_cores: float = math.inf,
) -> list[RunResult]:
    """
    Execute all runs in order. If records were sent late, repeat the run up to `max_late_runs` times.

    With `max_foreign_cores`, a run is also repeated if other programs used more cores than this number. If the last
    attempt is disturbed as well, the run is invalid.
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


def is_sustained(result: RunResult) -> bool:
    """Return whether outputs are correct, records were sent on time and at full rate, and the queue did not grow."""
    numbers = result.numbers
    is_too_slow = numbers["achieved_share"] < MIN_ACHIEVED_SHARE
    if late_sending(numbers) or numbers["missing"] or numbers["wrong"] or is_too_slow:
        return False
    first_ms, *_, last_ms = (percentiles(part, [0.5])[0] / 1000 for part in np.array_split(result.latency_us, 4))
    return last_ms - first_ms <= MAX_GROWTH_MS and last_ms <= MAX_FINAL_MS


def highest_rate(rates: Iterable[float], keeps_up: Callable[[float], bool]) -> float:
    """Return the highest sustained rate. The last rate tested is midway between a sustained and a failed rate."""
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
    """Return the highest sustained rate of each case (or 0) as `limits`, and all tested rates as `steps`."""
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
