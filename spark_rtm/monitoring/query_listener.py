"""Export the progress of a session's streaming queries as Prometheus metrics, once per batch."""

import json
import time
from typing import Any

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from spark_rtm.realtime.latency import METRIC

PERCENTILES = ("p50", "p90", "p99")


class QueryMetrics(StreamingQueryListener):
    """A listener for `spark.streams.addListener`. All queries without a name have the label `unnamed`."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"realtime_query_{name}", text, ["query"], registry=registry)

        def counter(name: str, text: str) -> Counter:
            return Counter(f"realtime_query_{name}", text, ["query"], registry=registry)

        self.running = gauge("running", "1 while the query runs, else 0")
        self.failures = counter("failures", "Number of failures of the query")
        self.reported = gauge("last_report_timestamp_seconds", "Time of the last report")
        self.rows = counter("rows", "Number of rows that finished batches have read")
        self.batch = gauge("batch_seconds", "Duration of the last batch")
        self.behind = gauge("offsets_behind", "Largest lag of any partition at the last commit")
        self.state = gauge("state_rows", "Number of rows in the state")
        self.latency = Gauge(
            "realtime_query_latency_seconds",
            "Latency of the last batch, reported by Databricks or, on OSS, by `with_latency`",
            labelnames=["query", "kind", "percentile"],
            registry=registry,
        )
        self._names: dict[str, str] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - the name of the interface
        """Store the query's name, which the termination event does not contain."""
        name = self._names[str(event.runId)] = event.name or "unnamed"
        self.running.labels(name).set(1)
        self.failures.labels(name).inc(0)
        self.reported.labels(name).set(time.time())

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - the name of the interface
        """Export a batch's progress event."""
        progress = event.progress
        name = progress.name or "unnamed"
        self.reported.labels(name).set(time.time())
        self.rows.labels(name).inc(progress.numInputRows)
        self.batch.labels(name).set(progress.batchDuration / 1000)
        lags = [float((source.metrics or {}).get("maxOffsetsBehindLatest", 0)) for source in progress.sources]
        self.behind.labels(name).set(max(lags, default=0))
        self.state.labels(name).set(sum(operator.numRowsTotal for operator in progress.stateOperators))
        for kind, percentile, milliseconds in latencies_of(progress.json):
            self.latency.labels(name, kind, percentile).set(milliseconds / 1000)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - the name of the interface
        """Export a query's termination, and whether the query failed."""
        name = self._names.pop(str(event.runId), "unnamed")
        self.running.labels(name).set(0)
        if event.exception:
            self.failures.labels(name).inc()


def latencies_of(text: str) -> list[tuple[str, str, float]]:
    """
    Return (kind, percentile, milliseconds) tuples from a progress event's JSON. OSS 4.3.0 needs `with_latency`.

    The Databricks documentation spells the fields in two ways: `rtmMetrics` with `P50`, and `latencies` with `p50`.
    """
    event: dict[str, Any] = json.loads(text)
    observed = (event.get("observedMetrics") or {}).get(METRIC)
    on_oss = {METRIC: observed} if observed else {}
    kinds: dict[str, dict[str, float]] = event.get("rtmMetrics") or event.get("latencies") or on_oss
    return [
        (kind, name.lower(), value)
        for kind, values in kinds.items()
        for name, value in values.items()
        if name.lower() in PERCENTILES
    ]
