"""
Find the highest rate that each mode sustains, then measure latency at shares of it: `make bench-throughput`.

What arrives are options; what leaves are tables, `throughput.json`, and its chart. Exit status 1 if a run is invalid.
Latency at the limit is the length of a queue, so the modes are compared where each has room to spare.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from examples.benchmarks.harness.cli import Lengths, is_chosen, parser_of, with_lengths
from examples.benchmarks.harness.load_generator import Traffic
from examples.benchmarks.harness.plan import interleaved, plain_console, run_steps, warm_broker
from examples.benchmarks.harness.run import Cell, Trial, run_trial
from examples.benchmarks.latency import conditions, ended, show, write
from examples.benchmarks.results.summary import summarise
from examples.benchmarks.results.validity import LEAST_ACHIEVED, sent_late
from examples.benchmarks.spark.variants import latency_cells
from examples.measure.percentiles import percentiles

FULL = Lengths(1, 10, 40, 36)
RATES = (2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
STEP_SECONDS = 20.0
SHOWN = "work", "engine", "rate", "p50_ms", "p99_ms", "lag_p99_ms", "missing", "wrong", "achieved_share", "engine_cores"
"""What is kept of a step."""
TRIES = 2
"""A pause of the machine makes a sender late; an engine that leaves it no time does so again."""
SHARES = (25, 50, 75)
"""Percent of the highest sustained rate."""
MOST_GROWTH_MS = 250.0
"""Medians of the first and the last quarter of a step may lie so far apart: a pause of the machine does that too."""
MOST_AT_END_MS = 1_000.0
"""
Median of the last quarter at most. Behind a longer queue records are answered after the last was due, when the load
program has left its share of the processor, so their latency falls although the engine never kept up.
"""


def is_sustained(trial: Trial) -> bool:
    """Tell whether an engine kept up: all answered rightly, at the rate that was asked for, in time, no queue."""
    numbers = trial.numbers
    if sent_late(numbers) or numbers["missing"] or numbers["wrong"] or numbers["achieved_share"] < LEAST_ACHIEVED:
        return False
    first, *_, last = (percentiles(quarter, [0.5])[0] / 1000 for quarter in np.array_split(trial.latency_us, 4))
    return last - first <= MOST_GROWTH_MS and last <= MOST_AT_END_MS


def highest_rate(rates: Iterable[float], keeps_up: Callable[[float], bool]) -> float:
    """Raise the rate until an engine no longer keeps up, try half way back, and return the highest that was kept up."""
    sustained = 0.0
    for rate in rates:
        if not keeps_up(rate):
            half_way = (sustained + rate) / 2
            return half_way if keeps_up(half_way) else sustained
        sustained = rate
    return sustained


def find_limit(
    bootstrap_servers: str, cell: Cell, rates: Sequence[float], traffic: Traffic, partitions: int, console: Console
) -> tuple[float, list[dict[str, Any]]]:
    """Return the highest rate that an engine keeps up, 0 if there is none, and the steps that were tried."""
    steps = []

    def keeps_up(rate: float) -> bool:
        for _ in range(TRIES):
            trial = run_trial(bootstrap_servers, cell, replace(traffic, rate=rate), partitions)
            if not sent_late(trial.numbers):
                break
        kept_up, numbers = is_sustained(trial), trial.numbers
        steps.append({**{name: numbers.get(name) for name in SHOWN}, "sustained": kept_up})
        verdict = "kept up" if kept_up else "fell behind"
        console.print(f"{cell.work}, {cell.name}, {rate:g}/s: {verdict}, p50 {numbers.get('p50_ms', 0):,.1f} ms")
        return kept_up

    return highest_rate(rates, keeps_up), steps


def main(arguments: Sequence[str] | None = None) -> int:
    """Find the limits, do the runs below them, print and write both; return 1 if a run does not count."""
    parser = parser_of("throughput", __doc__, "--quick --only stateless")
    parser.add_argument("--rates", type=float, nargs="+", default=list(RATES), help="records per second, rising")
    options = with_lengths(parser.parse_args(arguments), FULL)
    return ended(lambda: _measure(options))


def _measure(options: argparse.Namespace) -> int:
    console, limits, steps = plain_console(), [], []
    cells = latency_cells(options.interval_seconds, quick=True)
    cells = [cell for cell in cells if is_chosen(options, cell.work, cell.name)]
    step = Traffic(0, options.warm_up_seconds, options.measured_seconds if options.quick else STEP_SECONDS)
    plan = []
    first = replace(step, rate=options.rates[0])
    with warm_broker(first, options.partitions, console) as bootstrap_servers:
        for cell in cells:
            highest, tried = find_limit(bootstrap_servers, cell, options.rates, step, options.partitions, console)
            limits.append({"work": cell.work, "engine": cell.name, "sustained": highest})
            steps += tried
            rates = [highest * share / 100 for share in SHARES] if highest else []
            traffics = [Traffic(rate, options.warm_up_seconds, options.measured_seconds) for rate in rates]
            plan += interleaved([cell], traffics, options.repeats)
        trials = run_steps(bootstrap_servers, plan, options.partitions, console)
    conditions_here = {**conditions(options), "shares": list(SHARES)}
    content = {"conditions": conditions_here, "limits": limits, "steps": steps, **summarise(trials)}
    show(content, console)
    return write(content, trials, "throughput", console, keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
