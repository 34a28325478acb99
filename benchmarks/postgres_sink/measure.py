"""
Measure the PostgreSQL sink: flushes compared with other methods, single rows, and paths from Kafka.

Run the benchmark with `make bench-postgres-sink`.
Each measured time ends with the commit of a row, or when a reader has read it.
"""

import os
import platform
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from rich.console import Console
from rich.table import Table

from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import CaseOptions
from benchmarks.postgres_sink.chart import draw
from benchmarks.postgres_sink.end_to_end import PATHS, PathLatency, enable_commit_times, measure_path
from benchmarks.postgres_sink.flush import METHODS, FlushCase, measure_flushes
from benchmarks.postgres_sink.methods import COLUMNS, HOT, create
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.services import LocalPostgres, kafka_broker, running
from spark_rtm.services.spark import build_session
from spark_rtm.sinks import PostgresUpsertSink

SINGLE_ROWS, MIN_SINGLE_ROWS = 500, 20
WARM_UP_ROWS, GAP_SECONDS = 20, 0.01
TABLE = "bench_single_row"
QUICK_RUN = {"duration": 9, "scale": 0.2}


@dataclass(frozen=True)
class Options(CaseOptions):
    """Options of this benchmark."""

    duration: float = 45
    """Seconds of measurement for each path from Kafka at each rate."""
    rate: tuple[float, ...] = (10, 500)
    """Results per second on the paths from Kafka."""
    publish: bool = False
    """Write the results to references/measured."""
    filter: tuple[str, ...] = ()
    """Run only flushes and paths whose name contains TEXT, for example `cold keys` or `consumer` (repeatable)."""
    scale: float = 1
    """Factor for the number of measured flushes and single rows."""
    max_rows: int = 10_000
    """Size of the largest flush, in rows."""
    skip_end_to_end: bool = False
    """Skip the measurements of paths from Kafka, which need Kafka and Spark."""


def measure(options: Options, console: Console) -> Outcome:
    """Measure flushes, a single row, and the paths from Kafka."""
    with ExitStack() as stack:
        server = stack.enter_context(running(LocalPostgres()))
        load_before = os.getloadavg()[0]
        flushes = list(
            measure_flushes(
                server,
                options.scale,
                options.max_rows,
                lambda network, keys: options.is_selected(f"flush, {network}", f"{keys} keys"),
            )
        )
        console.print(flush_table(flushes))
        visible_ms = single_row_ms(server.dsn, max(MIN_SINGLE_ROWS, int(SINGLE_ROWS * options.scale)))
        rounded_ms = [round(value, 2) for value in percentiles(visible_ms, (0.5, 0.99, 1))]
        single = dict(zip(("p50", "p99", "max"), rounded_ms, strict=True))
        console.print(
            f"a single row is visible after p50 {single['p50']}, p99 {single['p99']}, max {single['max']} ms "
            f"(linger 2 ms)"
        )
        paths = [] if options.skip_end_to_end else _measure_paths(stack, server, options)
        console.print(path_table(paths))
    content = {
        "conditions": _conditions(options, load_before),
        "flushes": [asdict(case) for case in flushes],
        "single_row_visible_ms": single,
        "end_to_end": [asdict(path) for path in paths],
    }
    return Outcome("postgres_sink", content, draw=lambda folder: draw(flushes, folder))


def single_row_ms(dsn: str, rows: int) -> list[float]:
    """Return, for each of `rows` rows, the time in ms from `process` until another connection reads the row."""
    sink = PostgresUpsertSink(conninfo_to_dict(dsn), ("public", TABLE), ("id",), COLUMNS, "version")
    sink.open(0, 0)
    visible_ms, pause = list[float](), threading.Event()
    with psycopg.connect(dsn, autocommit=True) as reader:
        create(reader, TABLE, HOT)
        for number in range(-WARM_UP_ROWS, rows):
            row = {"id": number % 100, "version": 1000 + number, "campaign": 1, "price": 1.0, "payload": ""}
            query, version = f"select version from {TABLE} where id = %s".encode(), (row["version"],)
            started_at = time.perf_counter()
            sink.process(row)
            while reader.execute(query, [row["id"]]).fetchone() != version:
                pass
            visible_ms.append((time.perf_counter() - started_at) * 1000)
            pause.wait(GAP_SECONDS)
    sink.close(None)
    return visible_ms[WARM_UP_ROWS:]


def flush_table(cases: Sequence[FlushCase]) -> Table:
    """Return the flushes as a table with one row per size and one column per method."""
    title = "speed relative to executemany (p50 in ms)"
    table = Table("network", "keys", "rows", *METHODS, title=title, box=None)
    for place in dict.fromkeys((case.network, case.keys, case.rows) for case in cases):
        row = [case for case in cases if (case.network, case.keys, case.rows) == place]
        table.add_row(*map(str, place), *(f"{case.times_executemany:.2f} ({case.p50_ms:.2f})" for case in row))
    return table


def path_table(paths: Sequence[PathLatency]) -> Table:
    """Return the paths from Kafka as a table."""
    table = Table("from append to commit, ms", "results/s", "rows", "p50", "p99", "max", box=None)
    for path in paths:
        table.add_row(*(f"{value:g}" if isinstance(value, float | int) else value for value in asdict(path).values()))
    return table


def _measure_paths(stack: ExitStack, server: LocalPostgres, options: Options) -> list[PathLatency]:
    kafka = stack.enter_context(kafka_broker())
    spark = build_session("postgres-sink", slots=4)
    stack.callback(spark.stop)
    enable_commit_times(server)
    return [
        measure_path(spark, kafka, server, path, rate, options.duration)
        for rate in options.rate
        for path in PATHS
        if options.is_selected("end to end", path)
    ]


def _conditions(options: Options, load_before: float) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "scale": options.scale,
        "cores": os.cpu_count(),
        "load_average_before_and_after": [round(load_before, 1), round(os.getloadavg()[0], 1)],
        "python": platform.python_version(),
        "psycopg": psycopg.__version__,
        "postgresql": "18",
    }


BENCHMARK = Benchmark(
    "postgres-sink", __doc__, Options, measure, example="--quick --skip-end-to-end", presets={"quick": QUICK_RUN}
)
