"""
Measure the PostgreSQL sink: flushes compared with other methods, single rows, and paths from Kafka.

Each measured time ends with the commit of a row, or when a reader has read it.
"""

import os
import platform
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from rich.console import Console

from benchmarks.harness.benchmark import CaseOptions, Outcome
from benchmarks.postgres_sink.end_to_end import PATHS, enable_commit_times, measure_path
from benchmarks.postgres_sink.flush import COLUMNS, create, measure_flushes
from benchmarks.probes.probe import bench
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.services import LocalPostgres, running
from spark_rtm.sinks import PostgresUpsertSink

SINGLE_ROWS, MIN_SINGLE_ROWS = 500, 20
WARM_UP_ROWS, GAP_SECONDS = 20, 0.01
TABLE = "bench_single_row"


PRESETS = {"quick": {"duration": 9, "scale": 0.2}}


@dataclass(frozen=True)
class Options(CaseOptions):
    """Options of this benchmark."""

    duration: float = 45
    """Seconds of measurement for each path from Kafka at each rate."""
    rate: tuple[float, ...] = (10, 500)
    """Results per second on the paths from Kafka."""
    filter: tuple[str, ...] = ()
    """Run only flushes and paths whose name contains TEXT: `flush`, `cold keys`, `consumer`, ... (repeatable)."""
    scale: float = 1
    """Factor for the number of measured flushes and single rows."""


def measure(options: Options, console: Console) -> Outcome:
    """Measure flushes, a single row, and the paths from Kafka."""
    load_before, flushes, paths = os.getloadavg()[0], list[dict[str, Any]](), list[dict[str, Any]]()
    with running(LocalPostgres()) as server:
        for case in measure_flushes(
            server, options.scale, lambda network, keys: options.is_selected(f"flush, {network}", f"{keys} keys")
        ):
            flushes.append(case)
            console.print(case)
        visible_ms = single_row_ms(server.dsn, max(MIN_SINGLE_ROWS, int(SINGLE_ROWS * options.scale)))
        single = [round(value, 2) for value in percentiles(visible_ms, (0.5, 0.99, 1))]
        console.print("a single row is visible after p50 {}, p99 {}, max {} ms (linger 2 ms)".format(*single))
        if selected := [path for path in PATHS if options.is_selected("end to end", path)]:
            enable_commit_times(server)
            with bench("postgres-sink", slots=4) as place:
                for rate, path in [(rate, path) for rate in options.rate for path in selected]:
                    paths.append(measure_path(place, server, path, rate, options.duration))
                    console.print(paths[-1])
    content = {
        "conditions": {
            "date": datetime.now(UTC).date().isoformat(),
            "scale": options.scale,
            "cores": os.cpu_count(),
            "load_average_before_and_after": [round(load_before, 1), round(os.getloadavg()[0], 1)],
            "python": platform.python_version(),
            "psycopg": psycopg.__version__,
            "postgresql": "18",
        },
        "flushes": flushes,
        "single_row_visible_ms": dict(zip(("p50", "p99", "max"), single, strict=True)),
        "end_to_end": paths,
    }
    return Outcome("postgres_sink", content)


def single_row_ms(dsn: str, rows: int) -> list[float]:
    """Return, for each of `rows` rows, the time in ms from `process` until another connection reads the row."""
    sink = PostgresUpsertSink(conninfo_to_dict(dsn), ("public", TABLE), ("id",), COLUMNS, "version")
    sink.open(0, 0)
    visible_ms, pause = list[float](), threading.Event()
    with psycopg.connect(dsn, autocommit=True) as reader:
        create(reader, TABLE, "hot")
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
