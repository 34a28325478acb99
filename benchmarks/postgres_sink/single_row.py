"""Measure how long it takes until another connection can read a new row."""

import threading
import time

import psycopg
from psycopg.conninfo import conninfo_to_dict

from benchmarks.postgres_sink.methods import COLUMNS, HOT, create
from spark_rtm.sinks import PostgresUpsertSink

WARM_UP_ROWS = 20
GAP_SECONDS = 0.01
TABLE = "bench_single_row"


def single_row_ms(dsn: str, rows: int) -> list[float]:
    """Return, for each of `rows` single rows, the time from `process` until another connection reads the row."""
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
