"""
Measure the engine alone, from a rate of records to a statistic: no Kafka, no broker, nothing leaves the JVM.

What arrives are options; what leaves are a table and `rate_to_stat.json`. Exit status 1 if a statistic is wrong.
Spark's `rate` source is refused by real-time mode in 4.3.0, so both modes read the memory source of Spark's own tests.
Continuous mode and async progress tracking take no aggregation, so only two modes can be asked.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from rich.table import Table

from examples.attribution.settings import Settings
from examples.benchmarks.harness.cli import Lengths, is_chosen, parser_of, with_lengths
from examples.benchmarks.harness.plan import in_turns, plain_console
from examples.benchmarks.latency import BUILD, KEPT, conditions, ended, write_json
from examples.benchmarks.spark.queries import SHORT_INTERVALS, trigger_interval
from examples.measure.percentiles import PERCENTILES, percentiles_ms, percentiles_of_runs
from examples.realtime.slots import assert_real_time, build_session, raise_if_failed, wait_until
from examples.services.scala import scala_object

SCALA = Path(__file__).with_name("engine_only.scala")
FULL, QUICK = Lengths(3, 15, 20, 60), Lengths(1, 2, 6, 9)
KEYS = 100
MODES = ("micro-batch", "real-time")
DRAIN_SECONDS = 60

Times = npt.NDArray[np.int64]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do the runs, print and write what they have shown; return 1 if a statistic is missing or wrong."""
    parser = parser_of("engine_only", __doc__, "--quick")
    parser.add_argument("--rate", type=float, default=1000, help="records per second")
    options = with_lengths(parser.parse_args(arguments), FULL, QUICK)
    return ended(lambda: _measure(options))


def _measure(options: argparse.Namespace) -> int:
    console, spark = plain_console(), build_session(Settings(slots=8, shuffle_partitions=2), SHORT_INTERVALS)
    try:
        chosen = [mode for mode in MODES if is_chosen(options, "rate to stat", mode)]
        modes = in_turns(chosen, options.repeats)
        runs = []
        for place, mode in enumerate(modes):
            console.print(f"{place + 1}/{len(modes)} {mode}, {options.rate:g}/s")
            runs.append(run_mode(spark, mode, options))
    finally:
        spark.stop()
    cells = [_cell(mode, [run for run in runs if run["engine"] == mode]) for mode in chosen]
    console.print(_table(cells))
    found = problems(runs)
    folder = KEPT if options.keep and not found else BUILD
    content = {"conditions": conditions(options), "cells": cells, "runs": runs}
    console.print(f"written: {write_json(content, folder / 'rate_to_stat.json')}", soft_wrap=True)
    if found:
        print(f"the numbers do not count: {'; '.join(found)}", file=sys.stderr)
    return 1 if found else 0


def problems(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Return what makes the runs invalid."""
    return [
        f"run {place + 1} ({run['engine']}): {run['missing']} records without statistic, {run['wrong']} wrong ones"
        for place, run in enumerate(runs)
        if run["missing"] or run["wrong"]
    ]


def run_mode(spark: SparkSession, mode: str, options: argparse.Namespace) -> dict[str, Any]:
    """Send records into one mode at a rate, and return its numbers; latency is from due to noted, in milliseconds."""
    count = int(options.rate * (options.warm_up_seconds + options.measured_seconds))
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        arrivals = Path(folder, "arrivals")
        arrivals.mkdir()
        engine = scala_object(spark, SCALA, "benchmarks.RateToStat")
        source = engine.source(spark._jsparkSession, options.partitions)  # noqa: SLF001 - the class has no Python form
        records = DataFrame(source.toDF(), spark)
        with _running(spark, engine, statistics_of(records), mode, options.interval_seconds, folder) as query:
            first_us = engine.send(source, float(options.rate), count)
            # The last record of each key is in the last statistic of it.
            wait_until(lambda: _is_complete(_noted(arrivals), count), DRAIN_SECONDS, "the last statistics", [query])
            raise_if_failed([query])
        noted = _noted(arrivals)
    answered_us, wrong = answers(noted, count)
    due_us = first_us + (np.arange(count) * 1e6 / options.rate).astype(np.int64)
    measured = (due_us >= first_us + options.warm_up_seconds * 1e6) & (answered_us > 0)
    return {
        "engine": mode,
        "rate": options.rate,
        **{f"{name}_ms": ms for name, ms in percentiles_ms((answered_us - due_us)[measured]).items()},
        "outputs_per_record": round(len(noted) / count, 3),
        "missing": int((answered_us == 0).sum()),
        "wrong": wrong,
    }


def statistics_of(records: DataFrame) -> DataFrame:
    """Return for each key the number of its newest record, and how many it has; `records` has the column `value`."""
    return records.groupBy((F.col("value") % KEYS).alias("key")).agg(F.max("value"), F.count("*")).drop("key")


def answers(noted: Times, count: int) -> tuple[Times, int]:
    """
    Return when each record was first counted in a statistic (0: never), and how many statistics are wrong.

    `noted` has a row for each statistic: number of the newest record, how many it counts, microseconds since 1970.
    """
    answered_us = np.zeros(count, dtype=np.int64)
    for newest, _, at_us in noted[np.argsort(noted[:, 2], kind="stable")]:
        number = newest
        while number >= 0 and not answered_us[number]:
            answered_us[number] = at_us
            number -= KEYS
    return answered_us, int((noted[:, 0] // KEYS + 1 != noted[:, 1]).sum())


@contextmanager
def _running(
    spark: SparkSession, engine: Any, statistics: DataFrame, mode: str, interval_seconds: float, folder: str
) -> Iterator[StreamingQuery]:
    jvm: Any = spark._jvm  # noqa: SLF001 - a writer of the JVM can only be started there
    trigger, interval = jvm.org.apache.spark.sql.streaming.Trigger, trigger_interval(interval_seconds)
    chosen = trigger.RealTime(interval) if mode == "real-time" else trigger.ProcessingTime("0 seconds")
    query = StreamingQuery(engine.start(statistics._jdf, chosen, f"{folder}/checkpoint", f"{folder}/arrivals"))  # noqa: SLF001
    try:
        if mode == "real-time":
            assert_real_time(query)
        yield query
    finally:
        query.stop()


def _noted(arrivals: Path) -> Times:
    lines = "".join(path.read_text() for path in arrivals.iterdir())
    return np.array(lines.split(), dtype=np.int64).reshape(-1, 3)


def _is_complete(noted: Times, count: int) -> bool:
    newest = noted[:, 0]
    return len(set(newest[newest >= count - KEYS])) == min(KEYS, count)


def _cell(mode: str, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    outputs = min(run["outputs_per_record"] for run in runs)
    return {"engine": mode, "runs": len(runs), **percentiles_of_runs(runs), "outputs_per_record": outputs}


def _table(cells: Sequence[dict[str, Any]]) -> Table:
    shown = Table("engine", *PERCENTILES, "outputs/record", title="due until counted, ms: median of the runs", box=None)
    for cell in cells:
        values = [f"{cell[f'{name}_ms']:,.1f}" for name in PERCENTILES]
        shown.add_row(cell["engine"], *values, f"{cell['outputs_per_record']:g}")
    return shown


if __name__ == "__main__":
    sys.exit(main())
