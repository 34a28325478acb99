"""
Find the highest rate that each mode sustains, and measure latency below that rate.

Run the benchmark with `make bench-throughput`.
The program prints tables, and writes `throughput.json` and its charts.
The program exits with status 1 if a run is invalid.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.harness.cli import RunOptions, exit_status, parse
from benchmarks.harness.conditions import conditions
from benchmarks.harness.plan import alternate, plain_console, run_on_broker, warm_broker
from benchmarks.harness.rate_search import find_limit
from benchmarks.results.publish import write_results
from benchmarks.results.record_times import Traffic
from benchmarks.results.summary import summarize
from benchmarks.results.table import print_cases
from benchmarks.spark.variants import variants

STEP_SECONDS = 20.0
"""Seconds of measured traffic at each rate of the search."""
LOAD_PERCENTS = (25, 50, 75)
"""Latency is measured at these percentages of the highest sustained rate."""


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of this benchmark. The default values configure a full run."""

    duration: float = 36
    warm_up_seconds: float = 40
    interval_seconds: float = 10
    repeats: int = 1
    rate: tuple[float, ...] = (2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
    """Rates tested by the search, in records per second and in ascending order."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    options = parse(Options, "throughput", __doc__, "--quick --filter stateless", arguments)
    return exit_status(lambda: _measure(options))


def _measure(options: Options) -> int:
    console, limits, steps, plan = plain_console(), [], [], []
    traffic = Traffic(options.rate[0], options.warm_up_seconds, options.duration)
    step = traffic if options.quick else replace(traffic, duration_seconds=STEP_SECONDS)
    cases = variants(options.interval_seconds, quick=True)
    with warm_broker(step, options.partitions, console) as bootstrap_servers:
        for case in cases:
            if not options.is_selected(case.workload, case.engine):
                continue
            limit, tried = find_limit(bootstrap_servers, case, options.rate, step, options.partitions, console)
            limits.append({"workload": case.workload, "engine": case.engine, "sustained_rate": limit})
            steps += tried
            rates = [limit * percent / 100 for percent in LOAD_PERCENTS] if limit else []
            plan += alternate([case], [replace(traffic, rate=rate) for rate in rates], options.repeats)
        results = run_on_broker(bootstrap_servers, plan, options.partitions, options.max_late_runs, console)
    described = {**conditions(options), "load_percents": LOAD_PERCENTS}
    content = {"conditions": described, "limits": limits, "steps": steps, **summarize(results)}
    print_cases(content, console)
    return write_results(content, results, "throughput", console, publish=options.publish)


if __name__ == "__main__":
    sys.exit(main())
