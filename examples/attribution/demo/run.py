"""Run the demonstration once: start the queries, send traffic, wait for the last results, and reconcile them."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.markup import escape

from examples.attribution.attributed_table import stored_results
from examples.attribution.attributed_to_postgres import attributed_to_postgres
from examples.attribution.audit.latency import hop_latencies, timer_latencies
from examples.attribution.audit.reconciliation import reconcile
from examples.attribution.audit.run_log_reader import RunLogReader
from examples.attribution.demo.beside import micro_batch_beside
from examples.attribution.demo.live_view import LiveView
from examples.attribution.demo.monitor import RunMonitor
from examples.attribution.demo.report import Report
from examples.attribution.pacing.throttle import delivery_throttle
from examples.attribution.pipeline import (
    RULES,
    is_real_time,
    micro_batch_with_python,
    pipeline_queries,
    query_starters,
)
from examples.attribution.settings import Settings
from examples.attribution.topics import PACING_TOPIC, TICKS_TOPIC, create_topics
from examples.attribution.traffic.generator import TrafficGenerator
from examples.attribution.traffic.goals import campaign_goals
from examples.attribution.traffic.producer import SendLog, records_of_run, sending
from spark_rtm.kafka.ticks import ticking
from spark_rtm.measure.cpu import Cpu, CpuMeter
from spark_rtm.realtime.keeper import Keeper
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.services import new_folder


def run(
    settings: Settings,
    spark: SparkSession,
    bootstrap_servers: str,
    dsn: str,
    view: LiveView,
    stop: threading.Event,
    *,
    beside: bool = False,
) -> Report:
    """
    Send traffic for the configured duration or until `stop` is set, wait for the last results, and reconcile them.

    With `beside`, the first query also runs in micro-batch mode.
    """
    with ExitStack() as stack:
        partitions = create_topics(bootstrap_servers, settings.topic_prefix, settings.partitions)
        reader = RunLogReader(bootstrap_servers, settings, partitions)
        stack.callback(reader.close)
        results = stack.enter_context(attributed_to_postgres(bootstrap_servers, dsn, settings))
        keeper = stack.enter_context(_queries(settings, spark, bootstrap_servers, partitions, view))
        view.beside = stack.enter_context(micro_batch_beside(settings, spark, bootstrap_servers)) if beside else None
        # Event, transaction and campaign ids contain the run id, so they differ between runs on the same topics.
        sent = SendLog(started_at=time.time())
        traffic = TrafficGenerator(settings, run_id=f"{int(sent.started_at):x}", started_at=sent.started_at)
        throttle = stack.enter_context(
            delivery_throttle(bootstrap_servers, settings, partitions[PACING_TOPIC], campaign_goals(traffic))
        )
        traffic.is_open = throttle.is_open
        monitor = RunMonitor(reader, results, throttle, keeper, view, micro_batch_with_python(settings))
        cpu = _send_and_monitor(bootstrap_servers, traffic, sent, monitor, stop)
        monitor.drain(settings.drain_seconds)
        results.finish()
        boundaries = [
            each for name in _real_time(settings) for each in _boundaries(keeper.queries[name], settings, sent)
        ]
    goals = list(throttle.goals.values())
    reconciliation = reconcile(reader.log, settings, RULES, goals, stored_results(dsn, settings))
    latency = hop_latencies(reader.log, sent.measured_from_ms(settings))
    return Report(
        *(settings, reconciliation, latency, sent, reader.log, results.metrics, throttle.notices, cpu),
        timers=timer_latencies(reader.log, RULES.scaled(settings.time_scale), sent.measured_from_ms(settings)),
        boundaries=boundaries,
        beside=view.beside,
    )


@contextmanager
def _queries(
    settings: Settings, spark: SparkSession, bootstrap_servers: str, partitions: dict[str, int], view: LiveView
) -> Iterator[Keeper]:
    """Start the queries, check the execution mode of each query, and stop all queries after the block."""
    # Spark can still write to this folder after the last task, so it is deleted only at the end of the process.
    checkpoint_dir = settings.checkpoint_dir or str(new_folder("checkpoints"))
    with ExitStack() as stack:
        if settings.python_trigger == "real-time":
            stack.enter_context(ticking(bootstrap_servers, settings.topic(TICKS_TOPIC)))
        view.print_line("starting the queries")
        starters = query_starters(settings, spark, bootstrap_servers, partitions, checkpoint_dir)
        keeper = Keeper(spark, starters, on_decision=lambda decision: view.print_line(escape(str(decision))))
        stack.callback(keeper.stop)
        keeper.start()
        for name in _real_time(settings):
            assert_real_time(keeper.queries[name])
        yield keeper


def _real_time(settings: Settings) -> list[str]:
    return [query.name for query in pipeline_queries(settings) if is_real_time(query, settings)]


def _send_and_monitor(
    bootstrap_servers: str, traffic: TrafficGenerator, sent: SendLog, monitor: RunMonitor, stop: threading.Event
) -> Cpu | None:
    settings, meter = traffic.settings, CpuMeter()
    measured_from = sent.measured_from_ms(settings)
    monitor.view.start_run(sent, settings, monitor.throttle)
    with sending(bootstrap_servers, settings, records_of_run(traffic), sent, stop) as sender:
        while sender.is_alive():
            monitor.poll()
            if time.time() * 1000 >= measured_from:
                meter.sample()
    return meter.result()


def _boundaries(query: StreamingQuery, settings: Settings, sent: SendLog) -> Iterator[tuple[str, float, int]]:
    """Yield the query name, the start (second of the run) and the length (ms) of each pause between two batches."""
    for progress in query.recentProgress:
        began_at = datetime.fromisoformat(progress.timestamp).timestamp() + settings.interval_seconds
        pause_ms = progress.durationMs["triggerExecution"] - 1000 * settings.interval_seconds
        yield query.name, began_at - sent.started_at, pause_ms
