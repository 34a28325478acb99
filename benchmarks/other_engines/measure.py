"""
Compare Kafka Streams, Flink and Quix Streams with real-time mode and the baseline.

Run the benchmark with `make bench-other-engines`.
The program prints tables, and writes `other_engines.json` and its charts. With `--long-interval` it writes
`other_engines_interval.json`, with `--limits` `other_engines_limits.json`.
With `--publish`, the program waits until the machine is free, and repeats disturbed runs.
If an engine cannot be installed, the program ends with the reason.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from benchmarks.harness.benchmark import Benchmark, Outcome, outcome_of
from benchmarks.harness.cli import conditions
from benchmarks.harness.plan import rotate, run_plan
from benchmarks.other_engines.cases import OTHER_ENGINES, describe, engine_cases
from benchmarks.other_engines.engine import OtherEngine
from benchmarks.other_engines.limits import measure_limits
from benchmarks.other_engines.long_interval import measure_long_interval
from benchmarks.other_engines.options import PRESETS, Options


def measure(options: Options, console: Console, engines: Sequence[OtherEngine] = OTHER_ENGINES) -> Outcome:
    """Install the engines, and make one of the three measurements."""
    for engine in engines:
        engine.prepare()
    described = {"conditions": conditions(options), "other_engines": describe(engines)}
    if options.limits:
        return measure_limits(options, engines, described, console)
    if options.long_interval:
        return measure_long_interval(options, engines, described, console)
    return _measure_latency(options, engines, described, console)


def _measure_latency(
    options: Options, engines: Sequence[OtherEngine], described: Mapping[str, Any], console: Console
) -> Outcome:
    cases = [
        case
        for case in engine_cases(engines, options.interval_seconds, quick=options.quick)
        if options.is_selected(case.workload, case.engine)
    ]
    plan = rotate(cases, options.traffics(), options.repeats)
    results = run_plan(plan, options.partitions, options.max_late_runs, console, max_foreign_cores=options.quiet_limit)
    return outcome_of("other_engines", described, results, console)


BENCHMARK = Benchmark(
    "other-engines",
    __doc__,
    Options,
    measure,
    example="--quick --filter echo --filter Flink --filter real-time",
    presets=PRESETS,
)
