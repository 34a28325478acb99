"""Run the demonstration once: start the queries, send traffic, wait for the last results, and reconcile them."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.markup import escape

from examples.attribution.attributed_table import stored_results
from examples.attribution.attributed_to_postgres import ResultsConsumer, attributed_to_postgres
from examples.attribution.audit.latency import Latency, hop_latencies, timer_latencies
from examples.attribution.audit.reconciliation import reconcile
from examples.attribution.audit.run_log import RunLog
from examples.attribution.audit.run_log_reader import RunLogReader
from examples.attribution.demo.beside import micro_batch_beside, slots_beside
from examples.attribution.demo.live_view import LiveView
from examples.attribution.demo.report import Report
from examples.attribution.demo.table import SLOTS, copied_to_table
from examples.attribution.pacing.goals import campaign_goals
from examples.attribution.pacing.throttle import DeliveryThrottle, delivery_throttle
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
from examples.attribution.traffic.producer import SendLog, records_of_run, sending
from spark_rtm.kafka.ticks import ticking
from spark_rtm.measure.cpu import Cpu, CpuMeter
from spark_rtm.realtime.keeper import Keeper
from spark_rtm.realtime.proof import assert_real_time
from spark_rtm.realtime.queries import stop_on_interrupt
from spark_rtm.services import kafka_broker, new_folder, postgres_server
from spark_rtm.services.cluster import job_confs, standalone_cluster
from spark_rtm.services.java import filter_stderr
from spark_rtm.services.spark import FAST_COMPILER_CONFS, build_session

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Environment variable that `spark-submit` sets. If it is set, the workers already have the code of the job."""
HIGH_RATE = 500
"""Rate (records per second) from which five queries on two cores need the JVM's optimizing compiler (C2)."""
LONG_SECONDS = 3600
POLL_SECONDS = 0.1
MIN_SETTLED_POLLS = 3


@dataclass(frozen=True)
class RunMonitor:
    """
    Monitors the parts of a run that can fail or fall behind.

    Spark does not report when a real-time query has read all input. A run is therefore complete when every expected
    result has arrived and is final.
    """

    reader: RunLogReader
    results: ResultsConsumer
    throttle: DeliveryThrottle
    keeper: Keeper
    view: LiveView
    micro_batch: Sequence[str]
    """Names of the micro-batch queries. Only these queries report their position in the input during the run."""

    def poll(self, *, is_draining: bool = False) -> None:
        """Read new records, update the view, restart failed queries, and raise permanent failures."""
        self.reader.poll(POLL_SECONDS)
        self.keeper.poll()
        self.results.raise_if_failed()
        self.throttle.raise_if_failed()
        if self.view.beside:
            self.view.beside.poll()
        self.view.update(self.reader.log, self.results.metrics, is_draining=is_draining)

    def follow(self, sender: threading.Thread, measured_from_ms: float) -> Cpu | None:
        """Poll until `sender` has ended, and return the CPU use from `measured_from_ms` on."""
        meter = CpuMeter()
        while sender.is_alive():
            self.poll()
            if time.time() * 1000 >= measured_from_ms:
                meter.sample()
        return meter.result()

    def is_settled(self) -> bool:
        """Return whether every result is final and the micro-batch queries have read all input."""
        if not self.reader.is_settled():
            return False
        ends = self.reader.ends()
        return all(_has_read(self.keeper.queries[name], ends) for name in self.micro_batch)


@dataclass(frozen=True)
class Copies:
    """Additional queries, which read the source topics or the results of the pipeline."""

    beside: bool = False
    """Whether the first query also runs in micro-batch mode."""
    table: str = ""
    """The format of a table into which a second query copies the results, or an empty text."""


def run(
    settings: Settings,
    spark: SparkSession,
    bootstrap_servers: str,
    dsn: str,
    view: LiveView,
    stop: threading.Event,
    copies: Copies,
) -> Report:
    """Send traffic for the configured duration or until `stop` is set, wait for all results, and reconcile them."""
    with ExitStack() as stack:
        partitions = create_topics(bootstrap_servers, settings.topic_prefix, settings.partitions)
        reader = RunLogReader(bootstrap_servers, settings, partitions)
        stack.callback(reader.close)
        results = stack.enter_context(attributed_to_postgres(bootstrap_servers, dsn, settings))
        keeper = stack.enter_context(_queries(settings, spark, bootstrap_servers, partitions, view))
        if copies.beside:
            view.beside = stack.enter_context(micro_batch_beside(settings, spark, bootstrap_servers))
        copied = stack.enter_context(copied_to_table(copies.table, settings, spark, bootstrap_servers, view))
        # Event, transaction and campaign ids contain the run id, so they differ between runs on the same topics.
        sent = SendLog(started_at=time.time())
        traffic = TrafficGenerator(settings, settings.windows, f"{int(sent.started_at):x}", sent.started_at)
        throttle = stack.enter_context(
            delivery_throttle(bootstrap_servers, settings, partitions[PACING_TOPIC], campaign_goals(traffic))
        )
        traffic.is_open = throttle.is_open
        micro_batch = micro_batch_with_python(pipeline_queries(settings), settings)
        monitor = RunMonitor(reader, results, throttle, keeper, view, micro_batch)
        measured_from = sent.measured_from_ms(settings)
        view.start_run(sent, settings, throttle)
        with sending(bootstrap_servers, settings, records_of_run(traffic), sent, stop) as sender:
            cpu = monitor.follow(sender, measured_from)
        poll_until_settled(
            lambda: monitor.poll(is_draining=True), monitor.is_settled, reader.log.outstanding, settings.drain_seconds
        )
        view.print_line("stopping the queries, and comparing all results with the replay")
        results.finish()
        pauses_ms, stored = _pauses_ms(keeper, settings), stored_results(dsn, settings)
        in_table = copied(stored)
    reconciliation = reconcile(reader.log, settings, RULES, throttle.goals.values(), stored)
    reconciliation.differences.extend(in_table)
    latencies = _latencies(reader.log, settings, measured_from)
    outcome = settings, reconciliation, latencies, sent, reader.log, results.metrics, throttle.notices, cpu
    return Report(*outcome, pauses_ms=pauses_ms, beside=view.beside)


def run_all(
    settings: Settings,
    view: LiveView,
    copies: Copies,
    *,
    in_both_modes: bool = False,
    on_cluster: bool = False,
) -> list[Report]:
    """
    Start the servers and Spark, and run the pipeline once.

    With `in_both_modes`, the whole pipeline runs again in micro-batch mode, with separate topics and without copies.
    """
    stop = threading.Event()
    further = (slots_beside(settings) if copies.beside else 0) + (SLOTS if copies.table else 0)
    settings = replace(settings, slots=settings.slots + further)
    with ExitStack() as stack:
        stack.enter_context(view)
        # The JVM's optimizing compiler saves more CPU time than it uses only at a high rate or in a run of hours.
        is_heavy = settings.rate >= HIGH_RATE or settings.duration >= LONG_SECONDS
        confs = {} if settings.master or is_heavy else FAST_COMPILER_CONFS
        view.print_line("starting Kafka and PostgreSQL")
        servers = stack.enter_context(kafka_broker()), stack.enter_context(postgres_server())
        if on_cluster:
            view.print_line("starting a standalone Spark cluster")
            settings = replace(settings, master=stack.enter_context(standalone_cluster(2, -(-settings.slots // 2))))
        if settings.master.startswith("spark://") and SUBMITTED not in os.environ:
            confs = {**confs, **job_confs("examples")}
        view.print_line("starting Spark")
        with filter_stderr():
            spark = build_session(
                "ad-attribution",
                master=settings.master,
                slots=settings.slots,
                shuffle_partitions=settings.shuffle_partitions,
                confs=confs,
            )
        stack.callback(spark.stop)
        stop_on_interrupt(stop)
        reports = [run(settings, spark, *servers, view, stop, copies)]
        if in_both_modes and not stop.is_set():
            prefix = f"{settings.topic_prefix}micro-batch."
            slow = replace(settings, topic_prefix=prefix, trigger="micro-batch", python_trigger="micro-batch")
            reports.append(run(slow, spark, *servers, view, stop, Copies()))
    return reports


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
        if settings.exactly_once:
            keeper.commit_every(settings.exactly_once, threading.Event(), _real_time(settings))
        yield keeper


def _latencies(log: RunLog, settings: Settings, measured_from: float) -> list[Latency]:
    rules = RULES.scaled(settings.time_scale)
    return [*hop_latencies(log, measured_from), *timer_latencies(log, rules, measured_from)]


def _real_time(settings: Settings) -> list[str]:
    return [query.name for query in pipeline_queries(settings) if is_real_time(query, settings)]


def _pauses_ms(keeper: Keeper, settings: Settings) -> dict[str, list[int]]:
    """Return the length (ms) of each pause between two batches, by query name."""
    if settings.exactly_once:
        return {}  # commands end the batches before their interval
    interval_ms = 1000 * settings.interval_seconds
    batches = {name: keeper.queries[name].recentProgress for name in _real_time(settings)}
    return {
        name: [each.durationMs["triggerExecution"] - interval_ms for each in found] for name, found in batches.items()
    }


def poll_until_settled(
    poll: Callable[[], None],
    is_settled: Callable[[], bool],
    outstanding: Callable[[], int],
    idle_seconds: float,
    now: Callable[[], float] = time.monotonic,
) -> None:
    """Poll until the run is settled, or until `idle_seconds` have passed without progress."""
    least, deadline, settled_polls = outstanding(), now() + idle_seconds, 0
    # The last record can change several results, and these results can arrive in separate polls. The run is therefore
    # complete only after several settled polls in a row.
    while settled_polls < MIN_SETTLED_POLLS and now() < deadline:
        poll()
        settled_polls = settled_polls + 1 if is_settled() else 0
        if (left := outstanding()) < least:
            least, deadline = left, now() + idle_seconds


def is_past(position: Mapping[str, Mapping[str, int]], ends: Mapping[tuple[str, int], int]) -> bool:
    """Return whether a position (next offset by topic and partition) has reached the end of each partition."""
    return all(
        offset >= ends[topic, int(partition)]
        for topic, offsets in position.items()
        for partition, offset in offsets.items()
    )


def _has_read(query: StreamingQuery, ends: dict[tuple[str, int], int]) -> bool:
    progress = query.lastProgress
    if progress is None or not progress.sources[0].endOffset:
        return False
    return is_past(json.loads(progress.sources[0].endOffset), ends)
