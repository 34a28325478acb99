"""
Measure Spark's latency without Kafka, from the due time of a record until a statistic counts the record.

Run the benchmark with `make bench-engine-only`.
The program prints a table and writes `engine_only.json`.
The program exits with status 1 if a statistic is missing or wrong.
The benchmark omits the other modes of OSS 4.3.0, because only micro-batch mode and real-time mode support aggregations.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from rich.table import Table

from benchmarks.harness.cli import QUICK_RUN, RunOptions, exit_status, parse
from benchmarks.harness.conditions import conditions
from benchmarks.harness.plan import back_and_forth, plain_console
from benchmarks.results.publish import BUILD_DIR, PUBLISHED_DIR, report_problems, write_json
from benchmarks.results.record_times import Traffic
from benchmarks.spark.memory_source import MemoryRun, Mode, measure
from benchmarks.spark.queries import SHORT_INTERVALS
from spark_rtm.measure.percentiles import PERCENTILES, percentiles_of_runs
from spark_rtm.services.spark import build_session

DRAIN_SECONDS = 60
WORKLOAD = "statistics"
"""Name of this benchmark's only workload, as matched by `--filter`."""


@dataclass(frozen=True)
class Options(RunOptions):
    """Options of this benchmark. The default values configure a full run."""

    duration: float = 60
    warm_up_seconds: float = 20
    interval_seconds: float = 15
    repeats: int = 3
    rate: float = 1_000
    """Records per second."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit status."""
    quick = {**QUICK_RUN, "warm_up_seconds": 6}
    options = parse(Options, "engine_only", __doc__, "--quick", arguments, {"quick": quick})
    return exit_status(lambda: _measure(options))


def _measure(options: Options) -> int:
    console, spark = plain_console(), build_session("engine-only", confs=SHORT_INTERVALS)
    traffic = Traffic(options.rate, options.warm_up_seconds, options.duration, drain_seconds=DRAIN_SECONDS)
    try:
        selected: list[Mode] = [mode for mode in get_args(Mode) if options.is_selected(WORKLOAD, mode)]
        plan = back_and_forth(selected, options.repeats)
        runs = []
        for number, mode in enumerate(plan, 1):
            console.print(f"{number}/{len(plan)} {mode}, {options.rate:g}/s")
            runs.append(measure(spark, MemoryRun(mode, traffic, options.interval_seconds, options.partitions)))
    finally:
        spark.stop()
    cases = [_case(mode, [run for run in runs if run["engine"] == mode]) for mode in selected]
    console.print(_table(cases))
    problems = run_problems(runs)
    folder = PUBLISHED_DIR if options.publish and not problems else BUILD_DIR
    content = {"conditions": conditions(options), "cases": cases, "runs": runs}
    console.print(f"written: {write_json(content, folder / 'engine_only.json')}", soft_wrap=True)
    return report_problems(problems)


def run_problems(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Return the problems that make runs invalid."""
    return [
        f"run {number} ({run['engine']}): {run['missing']} records have no statistic, and "
        f"{run['wrong']} statistics are wrong"
        for number, run in enumerate(runs, 1)
        if run["missing"] or run["wrong"]
    ]


def _case(mode: str, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    outputs = min(run["outputs_per_record"] for run in runs)
    return {"engine": mode, "runs": len(runs), **percentiles_of_runs(runs), "outputs_per_record": outputs}


def _table(cases: Sequence[dict[str, Any]]) -> Table:
    title = "from due time to statistic, ms (median of the runs)"
    table = Table("engine", *PERCENTILES, "outputs/record", title=title, box=None)
    for case in cases:
        values = [f"{case[f'{name}_ms']:,.1f}" for name in PERCENTILES]
        table.add_row(case["engine"], *values, f"{case['outputs_per_record']:g}")
    return table


if __name__ == "__main__":
    sys.exit(main())
