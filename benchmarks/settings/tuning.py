"""
Measure real-time mode with one setting changed at a time.

Run the benchmark with `make bench-tuning`.
The program prints tables, and writes `tuning.json` and its charts.
The program exits with status 1 if a run is invalid.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.harness.cli import RunOptions, exit_status, parse
from benchmarks.harness.conditions import conditions
from benchmarks.harness.plan import alternate, plain_console, run_plan
from benchmarks.results.publish import write_results
from benchmarks.results.record_times import Traffic
from benchmarks.results.summary import summarize
from benchmarks.results.table import print_cases
from benchmarks.settings.setting_variants import setting_variants
from benchmarks.spark.variants import recommended


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of this benchmark. The default values configure a full run."""

    duration: float = 22
    warm_up_seconds: float = 20
    interval_seconds: float = 6
    repeats: int = 2
    # If all cores were busy, only settings that save CPU time would show an effect.
    rate: float = 300
    """Records per second."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    options = parse(Options, "tuning", __doc__, "--quick --filter FileManager --filter recommended", arguments)
    return exit_status(lambda: _measure(options))


def _measure(options: Options) -> int:
    console, base = plain_console(), recommended(options.interval_seconds, quick=options.quick)
    cases = [case for case in setting_variants(base) if options.is_selected(case.workload, case.engine)]
    traffic = Traffic(options.rate, options.warm_up_seconds, options.duration)
    results = run_plan(alternate(cases, [traffic], options.repeats), options.partitions, options.max_late_runs, console)
    content = {"conditions": conditions(options), **summarize(results)}
    print_cases(content, console)
    return write_results(content, results, "tuning", console, publish=options.publish)


if __name__ == "__main__":
    sys.exit(main())
