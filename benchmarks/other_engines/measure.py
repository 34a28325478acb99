"""
Compare Kafka Streams and Flink with real-time mode and the baseline.

With `--long-interval`, the program writes `other_engines_interval.json`.
With `--limits`, it writes `other_engines_limits.json`.
With `--publish`, it waits until other programs use few cores, and repeats disturbed runs.
If an engine cannot be installed, the program prints the reason and exits.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console

from benchmarks.harness.benchmark import QUICK_RUN, Outcome, RunOptions, conditions, outcome_of
from benchmarks.harness.plan import find_limits, rotate, run_plan, warm_broker
from benchmarks.harness.run import Case, baseline_case
from benchmarks.harness.workloads import Workload
from benchmarks.other_engines.flink import FLINK
from benchmarks.other_engines.kafka_streams import KAFKA_STREAMS
from benchmarks.results.run_result import MAX_FOREIGN_CORES, Traffic, busy_machine
from benchmarks.spark.variants import recommended, spark_case, two_copies

OTHER_ENGINES = (KAFKA_STREAMS, FLINK)
LONG_INTERVAL_BOUNDARIES = 2
WORKLOADS: tuple[Workload, ...] = ("stateless", "stateful")
MAX_BASELINE_SECONDS = 60.0
"""Maximum duration of the baseline, which commits nothing, at a long interval."""
PRESETS = {
    "quick": QUICK_RUN | {"warm_up_seconds": 9},
    # Two boundaries at 300 s and 600 s after the start, and a warm-up that ends long before the first one.
    "long_interval": {"duration": 580, "warm_up_seconds": 45, "interval_seconds": 300, "repeats": 1},
    "limits": {
        "duration": 12,
        "warm_up_seconds": 20,
        "interval_seconds": 10,
        "repeats": 1,
        "rate": (4_000, 8_000, 16_000, 32_000, 64_000),
    },
}


@dataclass(frozen=True)
class Options(RunOptions):
    """Options for this benchmark. The default values configure a full run, which takes about an hour."""

    duration: float = 44
    warm_up_seconds: float = 42
    warm_up_rate: float = 2_000
    """Records per second at the beginning of the warm-up, so that the JVM compiles code sooner."""
    interval_seconds: float = 12
    """Commit interval of all engines in seconds, which is the trigger interval of real-time mode."""
    repeats: int = 3
    rate: tuple[float, ...] = (1_000,)
    """Records per second. Several rates are measured in sequence."""
    max_foreign_cores: float = MAX_FOREIGN_CORES
    """Maximum number of cores that other programs may use during a published run."""
    long_interval: bool = False
    """Only measure each engine once with state, at a commit interval of five minutes (takes 40 minutes)."""
    limits: bool = False
    """Only search for the highest rate that each engine sustains (takes 40 minutes)."""

    def __post_init__(self) -> None:
        """Reject incompatible options."""
        if self.long_interval and self.limits:
            raise ValueError("--long-interval and --limits are separate measurements; run one after the other")
        if self.publish and (self.quick or self.filter):
            raise ValueError("--quick and --filter measure only a part, which cannot be published; omit --publish")


def measure(options: Options, console: Console) -> Outcome:
    """Install the engines, and run one of the three measurements."""
    for engine in OTHER_ENGINES:
        engine.prepare()
    packages = [{"engine": engine.name, "packages": ", ".join(engine.packages)} for engine in OTHER_ENGINES]
    described = {"conditions": conditions(options), "other_engines": packages}
    cases = options.selected(cases_of(options))
    traffics = [
        Traffic(rate, options.warm_up_seconds, options.duration, warm_up_rate=options.warm_up_rate)
        for rate in options.rate
    ]
    limit = options.max_foreign_cores if options.publish else math.inf
    if options.limits:
        # The warm-up has the same rate at each step. Otherwise, records would queue up before an engine with uncompiled
        # code, and the queue would hide whether the engine keeps up afterwards.
        with warm_broker(traffics[0], console, limit) as run_one:
            found = find_limits(run_one, cases, options.rate, traffics[0], console)
        problems = limit_problems(found["steps"], limit)
        return Outcome("other_engines_limits", {**described, **found}, problems)
    plan = rotate(cases, traffics, options.repeats)
    if options.long_interval:
        # Only the baseline has no settings.
        short = {"duration_seconds": min(MAX_BASELINE_SECONDS, options.duration)}
        plan = [replace(run, traffic=replace(run.traffic, **({} if run.case.settings else short))) for run in plan]
    results = run_plan(plan, options.max_late_runs, console, limit)
    stem = "other_engines_interval" if options.long_interval else "other_engines"
    return outcome_of(stem, described, results, console, has_charts=not options.long_interval)


def cases_of(options: Options) -> list[Case]:
    """
    Return the cases of a measurement: the baseline, each engine with each workload, and two copies of the query.

    `--limits` omits the baseline and the copies. `--long-interval` omits the copies and stateless cases.
    """
    real_time = recommended(options.interval_seconds, quick=options.quick or options.limits)
    if options.long_interval:
        case = spark_case("real-time", "stateful", real_time)
        others = [engine.case("stateful", options.interval_seconds) for engine in OTHER_ENGINES]
        return [baseline_case(), replace(case, min_boundaries=LONG_INTERVAL_BOUNDARIES), *others]
    cases = list[Case]()
    for workload in WORKLOADS:
        cases += [engine.case(workload, options.interval_seconds) for engine in OTHER_ENGINES]
        cases.append(spark_case("real-time", workload, real_time))
    copies = spark_case("real-time, two copies", "stateful", two_copies(real_time))
    return cases if options.limits else [baseline_case(), *cases, copies]


def limit_problems(steps: Sequence[Mapping[str, Any]], max_foreign_cores: float) -> list[str]:
    """Return a message for each step that an engine may have failed only because other programs were busy."""
    return [
        f"{step['workload']}, {step['engine']}, {step['rate']:g}/s: {problem}"
        for step in steps
        if not step["sustained"]
        for problem in busy_machine(step, max_foreign_cores)
    ]
