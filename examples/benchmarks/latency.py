"""
Measure the latency of Spark's execution modes, of the baseline, and of two copies of a query.

Run the benchmark with `make bench-latency`.
The program prints tables, and writes `latency.json` and its charts.
The program exits with status 1 if a run is invalid.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from examples.benchmarks.harness.cli import RunOptions, exit_status, parse
from examples.benchmarks.harness.conditions import conditions
from examples.benchmarks.harness.plan import alternate, plain_console, run_plan
from examples.benchmarks.results.publish import write_results
from examples.benchmarks.results.record_times import Arrivals, Traffic
from examples.benchmarks.results.summary import summarize
from examples.benchmarks.results.table import print_cases
from examples.benchmarks.spark.variants import variants


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    options = parse(Options, "latency", __doc__, "--quick --filter stateful", arguments)
    return exit_status(lambda: _measure(options))


def _measure(options: Options) -> int:
    console = plain_console()
    traffics = [
        Traffic(options.rate, options.warm_up_seconds, options.duration, arrivals) for arrivals in options.arrivals
    ]
    cases = [
        case
        for case in variants(options.interval_seconds, quick=options.quick)
        if options.is_selected(case.workload, case.engine)
    ]
    results = run_plan(alternate(cases, traffics, options.repeats), options.partitions, options.max_late_runs, console)
    content = {"conditions": conditions(options), **summarize(results)}
    print_cases(content, console)
    return write_results(content, results, "latency", console, publish=options.publish)


if __name__ == "__main__":
    sys.exit(main())
