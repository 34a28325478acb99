"""Measure the time from a result in Kafka to its row: consumer, micro-batch query and real-time query."""

# rtm: file-ignore[foreach-interval] the benchmark measures how late the rows are

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from benchmarks.probes.probe import Bench, produce, when_due
from examples.attribution.attributed_table import create_tables, results_of, results_sink, results_table
from examples.attribution.attributed_to_postgres import attributed_to_postgres
from examples.attribution.correlation.rule import Result
from examples.attribution.settings import DemoSettings, Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC, create_topics
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services import LocalPostgres

WARM_UP_SECONDS = 10
INTERVAL_SECONDS = 15
DRAIN_SECONDS = 60
PATHS: dict[str, dict[str, str]] = {
    "consumer alongside the query": {},
    "foreach, micro-batch": {"processingTime": "0 seconds"},
    f"foreach, real-time, batches of {INTERVAL_SECONDS} s": {"realTime": f"{INTERVAL_SECONDS} seconds"},
}
"""The trigger of each path; the consumer runs without a query."""
TEXTS = {"result_id": "", "src": "topic:0:1", "kind": "impression", "code": "matched", "transaction_id": "t" * 16}
NUMBERS = {"version": 2, "request_ts": 1, "effective_ts": 1, "appended_at": 1}
RESULT = asdict(Result(**TEXTS, **NUMBERS, campaign_id="campaign-1", clock_skew=False))  # type: ignore[arg-type]


def measure_path(place: Bench, server: LocalPostgres, path: str, rate: float, seconds: float) -> dict[str, Any]:
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
    found = zip(("p50_ms", "p99_ms", "max_ms"), percentiles(waits_ms or [0], (0.5, 0.99, 1)), strict=True)
    return {"path": path, "rate": rate, "rows": len(waits_ms), **{name: round(value, 1) for name, value in found}}


@contextmanager
def _running(place: Bench, dsn: str, settings: Settings, trigger: dict[str, str]) -> Iterator[None]:
    """Run a query with this trigger that writes to the table, or the pipeline's consumer if the trigger is empty."""
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
