"""
Compare Kafka Streams, Flink and Quix Streams with real-time mode and the baseline.

Run the benchmark with `make bench-other-engines`.
The program prints tables, and writes `other_engines.json` and its charts. With `--long-interval` it writes
`other_engines_interval.json`, with `--limits` `other_engines_limits.json`.
With `--publish`, the program waits until the machine is free, and repeats disturbed runs.
If an engine cannot be installed, the program ends with the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from benchmarks.harness.baseline import BASELINE, baseline_case
from benchmarks.harness.benchmark import Benchmark, Outcome, outcome_of
from benchmarks.harness.cli import conditions
from benchmarks.harness.plan import PlannedRun, rotate, run_plan, warm_broker
from benchmarks.harness.quiet import wait_until_quiet
from benchmarks.harness.rate_search import find_limits
from benchmarks.harness.run import Case
from benchmarks.harness.workloads import Workload
from benchmarks.other_engines.engine import OtherEngine
from benchmarks.other_engines.flink import FLINK
from benchmarks.other_engines.kafka_streams import KAFKA_STREAMS
from benchmarks.other_engines.options import PRESETS, Options
from benchmarks.other_engines.quix import QUIX
from benchmarks.results.validity import busy_machine
from benchmarks.spark.variants import recommended, spark_case, two_copies

OTHER_ENGINES = (KAFKA_STREAMS, FLINK, QUIX)
LONG_INTERVAL_BOUNDARIES = 2
WORKLOADS: tuple[Workload, ...] = ("stateless", "stateful")
MAX_BASELINE_SECONDS = 60.0
"""Maximum duration of the baseline, which commits nothing."""


def measure(options: Options, console: Console, engines: Sequence[OtherEngine] = OTHER_ENGINES) -> Outcome:
    """Install the engines, and make one of the three measurements."""
    for engine in engines:
        engine.prepare()
    packages = [{"engine": engine.name, "packages": ", ".join(engine.packages)} for engine in engines]
    described = {"conditions": conditions(options), "other_engines": packages}
    cases = [case for case in cases_of(options, engines) if options.is_selected(case.workload, case.engine)]
    if options.limits:
        return _measure_limits(options, cases, described, console)
    plan = plan_of(options, cases)
    results = run_plan(plan, options.partitions, options.max_late_runs, console, max_foreign_cores=options.quiet_limit)
    stem = "other_engines_interval" if options.long_interval else "other_engines"
    return outcome_of(stem, described, results, console, has_charts=not options.long_interval)


def cases_of(options: Options, engines: Sequence[OtherEngine]) -> list[Case]:
    """
    Return the cases of a measurement: the baseline, each engine with each workload, and two copies of the query.

    With `--limits`, the baseline and the two copies are omitted. With `--long-interval`, only the engines with state
    run, except Quix Streams, without the two copies.
    """
    real_time = recommended(options.interval_seconds, quick=options.quick or options.limits)
    if options.long_interval:
        case = spark_case("real-time", "stateful", real_time)
        others = [engine.case("stateful", options.interval_seconds) for engine in engines if engine != QUIX]
        return [baseline_case(), replace(case, min_boundaries=LONG_INTERVAL_BOUNDARIES), *others]
    cases = list[Case]()
    for workload in WORKLOADS:
        cases += [engine.case(workload, options.interval_seconds) for engine in engines]
        cases.append(spark_case("real-time", workload, real_time))
    copies = spark_case("real-time, two copies", "stateful", two_copies(real_time))
    return cases if options.limits else [baseline_case(), *cases, copies]


def plan_of(options: Options, cases: Sequence[Case]) -> list[PlannedRun]:
    """Return the runs of the cases at each rate. With `--long-interval`, the baseline runs for a minute."""
    plan = rotate(cases, options.traffics(), options.repeats)
    if not options.long_interval:
        return plan
    seconds = min(MAX_BASELINE_SECONDS, options.duration)
    return [
        replace(run, traffic=replace(run.traffic, duration_seconds=seconds)) if run.case.engine == BASELINE else run
        for run in plan
    ]


def _measure_limits(options: Options, cases: Sequence[Case], described: Mapping[str, Any], console: Console) -> Outcome:
    """
    Search for the highest rate that each engine sustains, on the same ladder of rates.

    The warm-up has the same rate at each step. Otherwise, records would queue up before an engine with uncompiled code,
    and the queue would hide whether the engine keeps up afterwards.
    """
    if options.quiet_limit is not None:
        wait_until_quiet(console, options.quiet_limit)
    traffic = options.traffics()[0]
    with warm_broker(traffic, options.partitions, console) as servers:
        limits, steps = find_limits(
            *(servers, cases, options.rate, traffic, options.partitions, console),
            max_foreign_cores=options.quiet_limit,
        )
    problems = [] if options.quiet_limit is None else limit_problems(steps, options.quiet_limit)
    return Outcome("other_engines_limits", {**described, "limits": limits, "steps": steps}, problems)


def limit_problems(steps: Sequence[Mapping[str, Any]], max_foreign_cores: float) -> list[str]:
    """Return a message for each step that an engine may have failed only because other programs were busy."""
    return [
        f"{step['workload']}, {step['engine']}, {step['rate']:g}/s: {problem}"
        for step in steps
        if not step["sustained"]
        for problem in busy_machine(step, max_foreign_cores)
    ]


BENCHMARK = Benchmark(
    "other-engines",
    __doc__,
    Options,
    measure,
    example="--quick --filter echo --filter Flink --filter real-time",
    presets=PRESETS,
)
