"""
Measure the PostgreSQL sink: its flush against other ways, a lone row, and the ways from Kafka into the table.

What arrives are options; what leaves are tables, and in a folder `sink.json` and `sink.svg`.
Real-time latency ends where a reader sees the row, so the times end with the commit or with a reader's answer.
"""

import argparse
import json
import os
import platform
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from rich.console import Console
from rich.table import Table

from examples.benchmarks.sink.chart import draw
from examples.benchmarks.sink.end_to_end import PathLatency, measure_paths
from examples.benchmarks.sink.flush import METHODS, Cell, measure_flushes
from examples.benchmarks.sink.methods import COLUMNS, HOT, create
from examples.measure.percentiles import percentiles
from examples.services import LocalPostgres, kafka_broker, running
from examples.services.spark import build_session
from examples.sinks import PostgresUpsertSink

BUILD = Path("build/sink")
KEPT = Path("references/measured")
RATES = (10, 500)
PATH_SECONDS = 45
WIDTH = 120


def lone_row_ms(dsn: str, rows: int) -> list[float]:
    """Return for each of `rows` lone rows the time from `process` until another connection sees it."""
    sink = PostgresUpsertSink(conninfo_to_dict(dsn), ("public", "bench_lone"), ("id",), COLUMNS, "version")
    sink.open(0, 0)
    seen_ms, silence = [], threading.Event()
    with psycopg.connect(dsn, autocommit=True) as reader:
        create(reader, "bench_lone", HOT)
        for number in range(-20, rows):
            row = {"id": number % 100, "version": 1000 + number, "campaign": 1, "price": 1.0, "payload": ""}
            started = time.perf_counter()
            sink.process(row)
            while reader.execute("select version from bench_lone where id = %s", [row["id"]]).fetchone() != (
                row["version"],
            ):
                pass
            seen_ms.append((time.perf_counter() - started) * 1000)
            silence.wait(0.01)
    sink.close(None)
    return seen_ms[20:]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the files."""
    parser = argparse.ArgumentParser(prog="python -m examples.benchmarks.postgres_sink", description=__doc__)
    parser.add_argument("--keep", action="store_true", help=f"write to {KEPT} instead of {BUILD}")
    parser.add_argument("--effort", type=float, default=1, help="share of the repetitions, for a quick look")
    parser.add_argument("--most-rows", type=int, default=10_000, help="largest flush")
    parser.add_argument("--no-paths", action="store_true", help="leave out Kafka and Spark")
    options = parser.parse_args(arguments)
    folder, console = KEPT if options.keep else BUILD, Console(width=WIDTH, highlight=False)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        server = stack.enter_context(running(LocalPostgres()))
        load_before = os.getloadavg()
        cells = list(measure_flushes(server, options.effort, options.most_rows))
        console.print(flush_table(cells))
        visible_ms = lone_row_ms(server.dsn, max(20, int(500 * options.effort)))
        lone = [round(value, 2) for value in percentiles(visible_ms, (0.5, 0.99, 1))]
        console.print(f"a lone row is visible after p50 {lone[0]} p99 {lone[1]} max {lone[2]} ms (linger 2 ms)")
        paths = [] if options.no_paths else _measure_paths(stack, server, PATH_SECONDS * options.effort)
        console.print(path_table(paths))
    draw(cells, folder / "sink.svg")
    facts = {"conditions": _conditions(load_before, options.effort), "flushes": [asdict(cell) for cell in cells]}
    facts |= {"lone_row_visible_ms": dict(zip(("p50", "p99", "max"), lone, strict=True))}
    facts |= {"paths": [asdict(path) for path in paths]}
    (folder / "sink.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(f"written: {folder / 'sink.json'}, {folder / 'sink.svg'}")
    return 0


def flush_table(cells: Sequence[Cell]) -> Table:
    """Return the cells as a table: a row per size, a column per method."""
    table = Table("network", "keys", "rows", *METHODS, title="times executemany (p50 ms)", box=None)
    for place in dict.fromkeys((cell.network, cell.keys, cell.rows) for cell in cells):
        row = [cell for cell in cells if (cell.network, cell.keys, cell.rows) == place]
        table.add_row(*map(str, place), *(f"{cell.times_executemany:.2f} ({cell.p50_ms:.2f})" for cell in row))
    return table


def path_table(paths: Sequence[PathLatency]) -> Table:
    """Return the paths as a table."""
    table = Table("from append to commit, ms", "results/s", "rows", "p50", "p99", "max", box=None)
    for path in paths:
        table.add_row(*(f"{value:g}" if isinstance(value, float | int) else value for value in asdict(path).values()))
    return table


def _measure_paths(stack: ExitStack, server: LocalPostgres, seconds: float) -> list[PathLatency]:
    kafka = stack.enter_context(kafka_broker())
    spark = build_session("postgres-sink", slots=4)
    stack.callback(spark.stop)
    return [path for rate in RATES for path in measure_paths(spark, kafka, server, rate, seconds)]


def _conditions(load_before: tuple[float, float, float], effort: float) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "effort": effort,
        "cores": os.cpu_count(),
        "load_average_before_and_after": [round(load_before[0], 1), round(os.getloadavg()[0], 1)],
        "python": platform.python_version(),
        "psycopg": psycopg.__version__,
        "postgresql": "18",
    }


if __name__ == "__main__":
    sys.exit(main())
