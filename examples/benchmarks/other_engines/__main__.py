"""
Compare Kafka Streams, Flink and Quix Streams with real-time mode and the baseline.

Run the benchmark with `make bench-other-engines`.
The program prints tables, and writes `other_engines.json` and its charts.
The program exits with status 1 if a run is invalid.
If an engine cannot be installed, the program skips the engine and prints the reason.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from examples.benchmarks.harness.baseline import baseline_case
from examples.benchmarks.harness.cli import QUICK_RUN, RunOptions, exit_status, parse
from examples.benchmarks.harness.conditions import conditions
from examples.benchmarks.harness.plan import alternate, plain_console, run_plan
from examples.benchmarks.harness.run import Case
from examples.benchmarks.harness.workloads import Workload
from examples.benchmarks.other_engines.engine import OtherEngine, prepare
from examples.benchmarks.other_engines.flink import FLINK
from examples.benchmarks.other_engines.kafka_streams import KAFKA_STREAMS
from examples.benchmarks.other_engines.quix import QUIX
from examples.benchmarks.other_engines.venv import to_stderr
from examples.benchmarks.results.publish import write_results
from examples.benchmarks.results.record_times import Traffic
from examples.benchmarks.results.summary import summarize
from examples.benchmarks.results.table import print_cases
from examples.benchmarks.spark.variants import recommended, spark_case

OTHER_ENGINES = (KAFKA_STREAMS, FLINK, QUIX)
WORKLOADS: tuple[Workload, ...] = ("stateless", "stateful")


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of this benchmark. The default values configure a full run."""

    duration: float = 120
    warm_up_seconds: float = 45
    interval_seconds: float = 30
    repeats: int = 2
    rate: tuple[float, ...] = (1_000,)
    """Records per second. Several rates are measured in sequence."""


def main(arguments: Sequence[str] | None = None, engines: Sequence[OtherEngine] = OTHER_ENGINES) -> int:
    """Install missing engines, run the benchmark, and return the exit status."""
    example = "--quick --filter echo --filter Flink --filter real-time"
    options = parse(Options, "other_engines", __doc__, example, arguments, {**QUICK_RUN, "warm_up_seconds": 9})
    return exit_status(lambda: _measure(options, engines))


def _measure(options: Options, engines: Sequence[OtherEngine]) -> int:
    console, missing = plain_console(), prepare(engines, to_stderr)
    installed = [engine for engine in engines if engine.name not in missing]
    cases = [
        case
        for case in engine_cases(installed, options.interval_seconds, quick=options.quick)
        if options.is_selected(case.workload, case.engine)
    ]
    traffics = [Traffic(rate, options.warm_up_seconds, options.duration) for rate in options.rate]
    results = run_plan(alternate(cases, traffics, options.repeats), options.partitions, options.max_late_runs, console)
    described = describe(engines, missing)
    content = {"conditions": conditions(options), "other_engines": described, **summarize(results)}
    print_cases(content, console)
    for name, reason in missing.items():
        console.print(f"{name} was not measured: {reason}", style="yellow", soft_wrap=True)
    return write_results(content, results, "other_engines", console, publish=options.publish)


def engine_cases(engines: Sequence[OtherEngine], interval_seconds: float, *, quick: bool = False) -> list[Case]:
    """Return the baseline case and, for each workload, the cases of the other engines and of real-time mode."""
    cases = [baseline_case()]
    for workload in WORKLOADS:
        cases += [Case(engine.name, workload, engine.start, settings=engine.settings) for engine in engines]
        cases.append(spark_case("real-time", workload, recommended(interval_seconds, quick=quick)))
    return cases


def describe(engines: Sequence[OtherEngine], missing: Mapping[str, str]) -> list[dict[str, str]]:
    """Return each engine's packages and, if the engine was not measured, the reason."""
    return [
        {"engine": engine.name, "packages": ", ".join(engine.packages), "not_measured": missing.get(engine.name, "")}
        for engine in engines
    ]


if __name__ == "__main__":
    sys.exit(main())
