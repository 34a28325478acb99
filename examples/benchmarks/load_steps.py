"""
Find the highest rate that each mode sustains, then measure latency at shares of it: `make bench-load`.

What arrives are options; what leaves are tables, `load.json`, and its chart. Exit status 1 if a run is invalid.
Latency at the limit is the length of a queue, so the modes are compared where each has room to spare.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rich.console import Console

from examples.benchmarks.latency import conditions, ended, table, write
from examples.benchmarks.latency_cells import latency_cells
from examples.benchmarks.load import Traffic
from examples.benchmarks.options import Lengths, is_chosen, parser_of, with_lengths
from examples.benchmarks.plan import interleaved, plain_console, run_steps, warm_broker
from examples.benchmarks.summary import summarise
from examples.benchmarks.trial import Cell, Trial, run_trial

FULL, QUICK = Lengths(2, 15, 30, 60), Lengths(1, 2, 6, 9)
RATES = (1_000, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000, 20_000, 30_000, 50_000)
STEP_SECONDS = 20.0
SHARES = (25, 50, 75)
"""Percent of the highest sustained rate."""
MOST_GROWTH_MS = 250.0
"""Medians of the first and the last quarter of a step may lie so far apart: a pause of the machine does that too."""


def is_sustained(trial: Trial) -> bool:
    """Tell whether an engine kept up: everything answered rightly, at the rate that was asked for, no growing lag."""
    numbers = trial.numbers
    if numbers["missing"] or numbers["wrong"] or numbers["achieved_share"] < 0.99:
        return False
    quarters = np.array_split(trial.latency_us, 4)
    return bool((np.median(quarters[-1]) - np.median(quarters[0])) / 1000 <= MOST_GROWTH_MS)


def highest_rate(
    bootstrap_servers: str, cell: Cell, rates: Sequence[float], traffic: Traffic, partitions: int, console: Console
) -> tuple[float, list[dict[str, Any]]]:
    """Raise the rate step by step until the engine no longer keeps up; return the last good rate and all steps."""
    sustained, steps = 0.0, []
    for rate in rates:
        trial = run_trial(bootstrap_servers, cell, replace(traffic, rate=rate), partitions)
        kept_up, numbers = is_sustained(trial), trial.numbers
        names = ("work", "engine", "rate", "p50_ms", "p99_ms", "missing", "wrong", "achieved_share", "engine_cores")
        steps.append({**{name: numbers.get(name) for name in names}, "sustained": kept_up})
        verdict = "kept up" if kept_up else "fell behind"
        console.print(f"{cell.work}, {cell.name}, {rate:g}/s: {verdict}, p50 {numbers.get('p50_ms', 0):,.1f} ms")
        if not kept_up:
            break
        sustained = rate
    return sustained, steps


def main(arguments: Sequence[str] | None = None) -> int:
    """Find the limits, do the runs below them, print and write both; return 1 if a run does not count."""
    parser = parser_of("load_steps", __doc__, "--quick --only stateless")
    parser.add_argument("--rates", type=float, nargs="+", default=list(RATES), help="records per second, rising")
    options = with_lengths(parser.parse_args(arguments), FULL, QUICK)
    return ended(lambda: _measure(options))


def _measure(options: argparse.Namespace) -> int:
    console, limits, steps = plain_console(), [], []
    cells = [cell for cell in latency_cells(options.interval_seconds, quick=True) if "copies" not in cell.name]
    cells = [cell for cell in cells if is_chosen(options, cell.work, cell.name)]
    step = Traffic(0, options.warm_up_seconds, options.measured_seconds if options.quick else STEP_SECONDS)
    plan = []
    first = replace(step, rate=options.rates[0])
    with warm_broker(first, options.partitions, console) as bootstrap_servers:
        for cell in cells:
            highest, tried = highest_rate(bootstrap_servers, cell, options.rates, step, options.partitions, console)
            limits.append({"work": cell.work, "engine": cell.name, "sustained": highest})
            steps += tried
            rates = [highest * share / 100 for share in SHARES] if highest else []
            traffics = [Traffic(rate, options.warm_up_seconds, options.measured_seconds) for rate in rates]
            plan += interleaved([cell], traffics, options.repeats)
        trials = run_steps(bootstrap_servers, plan, options.partitions, console)
    conditions_here = {**conditions(options), "shares": list(SHARES)}
    content = {"conditions": conditions_here, "limits": limits, "steps": steps, **summarise(trials)}
    console.print(table(content["cells"]))
    return write(content, trials, "load", console, keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
