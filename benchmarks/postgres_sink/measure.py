"""
Measure the PostgreSQL sink: paths from Kafka, and single rows.

Each measurement ends when a row is committed or when another connection has read the row.
"""

# rtm: file-ignore[foreach-interval] the benchmark measures how late the rows are
import json
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from rich.console import Console

from benchmarks.harness.benchmark import CaseOptions, Outcome, conditions
from benchmarks.probes.probe import ProbeRun, latencies, probe_run, produce, when_due
from examples.attribution.attributed_table import create_tables, results_of, results_sink, results_table
from examples.attribution.attributed_to_postgres import attributed_to_postgres
from examples.attribution.correlation.rule import Result
from examples.attribution.settings import DemoSettings, Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC, create_topics
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services import LocalPostgres, running
from spark_rtm.sinks import PostgresUpsertSink

WARM_UP_SECONDS = 10
INTERVAL_SECONDS = 15
DRAIN_SECONDS = 60
PATHS: dict[str, dict[str, str]] = {
    "consumer alongside the query": {},
    "foreach, micro-batch": {"processingTime": "0 seconds"},
    f"foreach, real-time, batches of {INTERVAL_SECONDS} s": {"realTime": f"{INTERVAL_SECONDS} seconds"},
}
"""The trigger of each path. The consumer runs without a query."""
TEXTS = {"result_id": "", "src": "topic:0:1", "kind": "impression", "code": "matched", "transaction_id": "t" * 16}
NUMBERS = {"version": 2, "request_ts": 1, "effective_ts": 1, "appended_at": 1}
RESULT = asdict(Result(**TEXTS, **NUMBERS, campaign_id="campaign-1", clock_skew=False))  # type: ignore[arg-type]
SINGLE_ROWS, WARM_UP_ROWS, GAP_SECONDS = 500, 20, 0.01
TABLE, COLUMNS = "bench_single_row", {"id": "bigint", "version": "bigint", "payload": "text"}
PRESETS = {"quick": {"duration": 9}}


def measure_path(place: ProbeRun, server: LocalPostgres, path: str, rate: float, seconds: float) -> dict[str, Any]:
    """Return the latency from a result's append in Kafka to the commit of its row, after `WARM_UP_SECONDS`."""
    settings = replace(DemoSettings(), topic_prefix=f"bench-{uuid.uuid4().hex[:8]}.")
    topic, total = settings.topic(ATTRIBUTED_TOPIC), int(rate * (WARM_UP_SECONDS + seconds))
    create_topics(place.servers, settings.topic_prefix, settings.partitions)
    create_tables(server.dsn, settings)
    records = ((n / rate, (topic, json.dumps({**RESULT, "result_id": str(n)}), str(n))) for n in range(total))
    with _running(place, server.dsn, settings, PATHS[path]):
        produce(place.servers, when_due(records))
        wait_until(lambda: len(commit_times_ms(server.dsn, settings)) == total, DRAIN_SECONDS, "the last rows")
    appended_ms = {(m.key() or b"").decode(): m.timestamp()[1] for m in read_topic(place.servers, topic)}
    measured_from_ms = min(appended_ms.values()) + 1000 * WARM_UP_SECONDS
    committed_ms = commit_times_ms(server.dsn, settings)
    waits_ms = [committed_ms[key] - at_ms for key, at_ms in appended_ms.items() if at_ms >= measured_from_ms]
    found = {f"{name}_ms": round(value, 1) for name, value in latencies(waits_ms).items()}
    return {"path": path, "rate": rate, "rows": len(waits_ms), **found}


@contextmanager
def _running(place: ProbeRun, dsn: str, settings: Settings, trigger: dict[str, str]) -> Iterator[None]:
    """Run a query that writes to the table with this trigger, or the pipeline's consumer if `trigger` is empty."""
    if not trigger:
        with attributed_to_postgres(place.servers, dsn, settings):
            yield
        return
    rows = results_of(place.records(settings.topic(ATTRIBUTED_TOPIC)))
    writer = rows.writeStream.foreach(results_sink(dict(conninfo_to_dict(dsn)), settings)).outputMode("update")
    checkpoint = str(place.folder / settings.topic_prefix)
    query = writer.option("checkpointLocation", checkpoint).trigger(**trigger).start()
    try:
        yield
    finally:
        query.stop()


def enable_commit_times(server: LocalPostgres) -> None:
    """Make the server store commit times, and restart it."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("alter system set track_commit_timestamp = on")
    server.stop()
    server.start()


def commit_times_ms(dsn: str, settings: Settings) -> dict[str, float]:
    """Return the commit time of each row by key, in UTC milliseconds."""
    query = (
        f"select result_id, extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000 from {results_table(settings)}"
    )
    with psycopg.connect(dsn) as connection:
        return {key: float(at_ms) for key, at_ms in connection.execute(query.encode())}


@dataclass(frozen=True)
class Options(CaseOptions):
    """Options of this benchmark."""

    duration: float = 45
    """Seconds of measurement for each path from Kafka at each rate."""
    rate: tuple[float, ...] = (10, 500)
    """Results per second on the paths from Kafka."""
    filter: tuple[str, ...] = ()
    """Run only the paths whose names contain TEXT: `consumer`, `micro-batch`, ... (repeatable)."""


def measure(options: Options, console: Console) -> Outcome:
    """Measure a single row, and the paths from Kafka."""
    load_before, paths = os.getloadavg()[0], list[dict[str, Any]]()
    with running(LocalPostgres()) as server:
        visible_ms = single_row_ms(server.dsn, SINGLE_ROWS)
        single = {name: round(value, 2) for name, value in latencies(visible_ms).items()}
        console.print("a single row is visible after", single)
        if selected := [path for path in PATHS if options.is_selected("end to end", path)]:
            enable_commit_times(server)
            with probe_run("postgres-sink", slots=4) as place:
                for rate, path in [(rate, path) for rate in options.rate for path in selected]:
                    paths.append(measure_path(place, server, path, rate, options.duration))
                    console.print(paths[-1])
    content = {
        "conditions": {
            **conditions(options),
            "load_average_before_and_after": [round(load_before, 1), round(os.getloadavg()[0], 1)],
            "psycopg": psycopg.__version__,
            "postgresql": "18",
        },
        "single_row_visible_ms": single,
        "end_to_end": paths,
    }
    return Outcome("postgres_sink", content)


def single_row_ms(dsn: str, rows: int) -> list[float]:
    """Return, for each of `rows` rows, the time in ms from `process` until another connection reads the row."""
    sink = PostgresUpsertSink(conninfo_to_dict(dsn), ("public", TABLE), ("id",), COLUMNS, "version")
    sink.open(0, 0)
    visible_ms, pause = list[float](), threading.Event()
    with psycopg.connect(dsn, autocommit=True) as reader:
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        reader.execute(f"create table {TABLE} ({columns}, primary key (id))".encode())
        for number in range(-WARM_UP_ROWS, rows):
            row = {"id": number % 100, "version": 1000 + number, "payload": ""}
            query, version = f"select version from {TABLE} where id = %s".encode(), (row["version"],)
            started_at = time.perf_counter()
            sink.process(row)
            while reader.execute(query, [row["id"]]).fetchone() != version:
                pass
            visible_ms.append((time.perf_counter() - started_at) * 1000)
            pause.wait(GAP_SECONDS)
    sink.close(None)
    return visible_ms[WARM_UP_ROWS:]
