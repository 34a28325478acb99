"""
Run the whole pipeline: servers, traffic, five queries in one session, a live view, and the reckoning at the end.

What arrives are options; what leaves are a reconciliation, a latency table, and exit status 1 if they differ.
Real-time mode demands what is in sight here: the trigger, the output mode, a checkpoint per query, and enough slots.
"""

import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import FrameType

import psycopg
from confluent_kafka import KafkaException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from examples.attribution.attributed_table import stored_results
from examples.attribution.attributed_to_pacing import attributed_to_pacing
from examples.attribution.attributed_to_postgres import attributed_to_postgres
from examples.attribution.audit.latency import boundary_gaps_ms, latencies
from examples.attribution.audit.reconciliation import reconcile
from examples.attribution.audit.topic_reader import LedgerReader
from examples.attribution.credit.models import CreditRules
from examples.attribution.demo.cli import parse
from examples.attribution.demo.live_view import View
from examples.attribution.demo.monitor import Followed
from examples.attribution.demo.report import Report, show_comparison, show_report
from examples.attribution.demo.stderr_filter import quiet_workers
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.events_to_timeouts import events_to_timeouts
from examples.attribution.kafka_to_events import kafka_to_events
from examples.attribution.pacing.throttle import brake
from examples.attribution.settings import Settings
from examples.attribution.topics import (
    ATTRIBUTED_TOPIC,
    CREDITS_TOPIC,
    ERASURES_TOPIC,
    EVENTS_TOPIC,
    PACING_TOPIC,
    SOURCE_TOPICS,
    create_topics,
)
from examples.attribution.touches_to_credit import touches_to_credit
from examples.attribution.traffic.generator import Traffic
from examples.attribution.traffic.goals import goals
from examples.attribution.traffic.producer import Sent, sending, until_the_end
from examples.measure.cpu import Cpu, CpuMeter
from examples.realtime.proof import assert_real_time
from examples.realtime.queries import wait_until
from examples.realtime.slots import preflight, slots_needed
from examples.services import connector, kafka_broker, postgres_server, standalone_cluster
from examples.services.spark import CONFS, build_session

SOURCE = {"startingOffsets": "earliest", "includeHeaders": "true"}
SINK = {
    # Newer Java clients would wait 5 ms for company.
    "kafka.linger.ms": "0",
    # A rejected record is as large as its source allowed, and headers come on top.
    "kafka.max.request.size": "4000000",
}
RULES = CreditRules()
"""The credit rules of the demonstration, before the time scale."""
QUICK_COMPILER = {
    # A run of minutes does not earn back what the JVM's optimising compiler costs: a third of Spark's CPU here. Without
    # that compiler code would get 48 MB, which five queries fill.
    "spark.driver.extraJavaOptions": f"{CONFS['spark.driver.extraJavaOptions']} -XX:TieredStopAtLevel=1 "
    "-XX:ReservedCodeCacheSize=240m"
}
"""For a local master; jobs that stay should keep the compiler."""
START_SECONDS = 120
# The first worker of a query has ten seconds to answer, which cannot be set; a busy machine may need more.
SLOW_PYTHON = "Python worker failed to connect back"
PYTHON_STARTS = 3


@dataclass(frozen=True)
class Hop:
    """One query from `sources` to `target`; without a target its rows name their topics."""

    name: str
    sources: tuple[str, ...]
    target: str | None
    transform: Callable[[DataFrame], DataFrame]
    micro_batch_seconds: float | None = None
    """Interval of a query that runs in micro-batch always, because real-time mode refuses its Python."""


def hops(settings: Settings) -> list[Hop]:
    """Return the five queries in the order of the flow."""
    timeouts_seconds, credits_seconds = settings.timeouts_interval_seconds, settings.credits_interval_seconds
    return [
        Hop("kafka_to_events", SOURCE_TOPICS, None, lambda rows: kafka_to_events(rows, settings)),
        Hop(
            "events_to_attributed", (EVENTS_TOPIC,), ATTRIBUTED_TOPIC, lambda rows: events_to_attributed(rows, settings)
        ),
        Hop(
            "attributed_to_pacing", (ATTRIBUTED_TOPIC,), PACING_TOPIC, lambda rows: attributed_to_pacing(rows, settings)
        ),
        Hop(
            "events_to_timeouts",
            (EVENTS_TOPIC,),
            ATTRIBUTED_TOPIC,
            lambda rows: events_to_timeouts(rows, settings),
            timeouts_seconds,
        ),
        Hop(
            "touches_to_credit",
            (ATTRIBUTED_TOPIC, EVENTS_TOPIC, ERASURES_TOPIC),
            CREDITS_TOPIC,
            lambda rows: touches_to_credit(rows, settings, RULES),
            credits_seconds,
        ),
    ]


def run(
    settings: Settings, spark: SparkSession, bootstrap_servers: str, dsn: str, view: View, stop: threading.Event
) -> Report:
    """Send traffic through all queries until its time is over or `stop` is set, drain, and reconcile."""
    with ExitStack() as stack:
        partitions = create_topics(bootstrap_servers, settings.topic_prefix, settings.partitions)
        reader = LedgerReader(bootstrap_servers, settings, partitions)
        stack.callback(reader.close)
        follower = stack.enter_context(
            attributed_to_postgres(bootstrap_servers, dsn, settings, partitions[ATTRIBUTED_TOPIC])
        )
        folder = settings.checkpoints or stack.enter_context(tempfile.TemporaryDirectory(prefix="checkpoints-"))
        view.say("starting the queries")
        queries = start_queries(settings, spark, bootstrap_servers, partitions, folder)
        for query in queries:
            stack.callback(query.stop)
        real_time = [q for hop, q in zip(hops(settings), queries, strict=True) if _is_real_time(hop, settings)]
        for query in real_time:
            assert_real_time(query)
        # Ids of a second run on the same topics must not meet those of the first.
        sent = Sent(started_at=time.time())
        traffic = Traffic(settings, run_id=f"{int(sent.started_at):x}", started_at=sent.started_at)
        ad_server = stack.enter_context(brake(bootstrap_servers, settings, partitions[PACING_TOPIC], goals(traffic)))
        traffic.is_open = ad_server.is_open
        followed = Followed(reader, follower, ad_server, queries, view)
        cpu = _send_and_follow(bootstrap_servers, traffic, sent, followed, stop)
        followed.drain(settings.drain_seconds)
        follower.finish()
        gaps_ms = {query.name: _gaps_ms(query, settings) for query in real_time}
    contracts = list(ad_server.goals.values())
    reconciliation = reconcile(reader.books, settings, RULES, contracts, stored_results(dsn, settings))
    latency = latencies(reader.books, sent.measured_from_ms(settings))
    return Report(
        settings, reconciliation, latency, gaps_ms, sent, reader.books, follower.metrics, ad_server.notices, cpu
    )


def start_queries(
    settings: Settings, spark: SparkSession, bootstrap_servers: str, partitions: dict[str, int], checkpoints: str
) -> list[StreamingQuery]:
    """Start all queries after a check of their slots."""

    def read(topics: Iterable[str]) -> DataFrame:
        source = spark.readStream.format("kafka").options(**SOURCE).option("kafka.bootstrap.servers", bootstrap_servers)
        return source.option("subscribe", ",".join(settings.topic(topic) for topic in topics)).load()

    streams = {hop: hop.transform(read(hop.sources)) for hop in hops(settings)}
    preflight(spark, {h.name: (rows, tasks_of_source(h, rows, partitions, settings)) for h, rows in streams.items()})
    queries: dict[Hop, StreamingQuery] = {}
    try:
        # Those with Python first and one after the other, while the machine has nothing else to do.
        for hop in sorted(streams, key=lambda hop: hop.micro_batch_seconds is None):
            writer = streams[hop].writeStream.format("kafka").options(**SINK)
            writer = writer.option("kafka.bootstrap.servers", bootstrap_servers)
            if hop.target:
                writer = writer.option("topic", settings.topic(hop.target))
            writer = writer.queryName(hop.name).outputMode("update")
            writer = writer.option("checkpointLocation", f"{checkpoints}/{hop.name}")
            if _is_real_time(hop, settings):
                # The keyword is missing in the type hints of PySpark 4.3.0.
                writer = writer.trigger(realTime=f"{settings.interval_seconds} seconds")  # type: ignore[call-overload]
            else:
                writer = writer.trigger(processingTime=f"{round(1000 * (hop.micro_batch_seconds or 0))} milliseconds")
            queries[hop] = writer.start() if hop.micro_batch_seconds is None else _start_python(writer)
    except BaseException:
        for query in queries.values():
            query.stop()
        raise
    return [queries[hop] for hop in streams]


def _start_python(writer: DataStreamWriter, attempts: int = PYTHON_STARTS) -> StreamingQuery:
    query = writer.start()
    try:
        wait_until(lambda: query.lastProgress, START_SECONDS, f"the first batch of {query.name!r}", [query])
    except BaseException as error:
        query.stop()
        if attempts > 1 and SLOW_PYTHON in str(error):
            return _start_python(writer, attempts - 1)
        raise
    return query


def _is_real_time(hop: Hop, settings: Settings) -> bool:
    return settings.trigger == "real-time" and hop.micro_batch_seconds is None


def tasks_of_source(hop: Hop, stream: DataFrame, partitions: Mapping[str, int], settings: Settings) -> int:
    """Return what `preflight` has to add to the shuffles of a query for its source; partitions are those by topic."""
    source = sum(partitions[topic] for topic in hop.sources)
    if _is_real_time(hop, settings):
        return source
    # The stages of a micro-batch run one after the other, so that the widest of them decides.
    return max(source - slots_needed(stream, 0), 0)


def _send_and_follow(
    bootstrap_servers: str, traffic: Traffic, sent: Sent, followed: Followed, stop: threading.Event
) -> Cpu | None:
    settings, meter = traffic.settings, CpuMeter()
    measured_from = sent.measured_from_ms(settings)
    followed.view.watch(sent, measured_from)
    with sending(bootstrap_servers, settings, until_the_end(traffic), sent, stop) as sender:
        while sender.is_alive():
            followed.poll()
            if time.time() * 1000 >= measured_from:
                meter.look()
    return meter.result()


def _gaps_ms(query: StreamingQuery, settings: Settings) -> list[int]:
    return boundary_gaps_ms((p.durationMs["triggerExecution"] for p in query.recentProgress), settings.interval_seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; return 0 if everything reconciles, 1 if not."""
    settings, compare, cluster = parse(arguments)
    try:
        reports = _run_all(settings, compare=compare, cluster=cluster)
    except (RuntimeError, ValueError, TimeoutError, KafkaException, psycopg.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for report in reports:
        show_report(report)
    if len(reports) > 1:
        show_comparison(*reports)
    return exit_status(reports)


def exit_status(reports: Iterable[Report]) -> int:
    """Return 0 if every run equals its replay, 1 if one does not."""
    return 1 if any(report.reconciliation.differences for report in reports) else 0


def _run_all(settings: Settings, *, compare: bool, cluster: bool) -> list[Report]:
    view, stop = View(), threading.Event()
    with ExitStack() as stack:
        stack.enter_context(view)
        view.say("starting Kafka and PostgreSQL")
        bootstrap_servers = stack.enter_context(kafka_broker())
        dsn = stack.enter_context(postgres_server())
        if cluster:
            view.say("starting a standalone cluster")
            master = stack.enter_context(standalone_cluster(2, -(-settings.slots // 2)))
            settings = replace(settings, master=master)
        view.say(f"starting Spark with Kafka connector {connector().version}")
        with quiet_workers():
            spark = build_session(
                "ad-attribution",
                master=settings.master,
                slots=settings.slots,
                shuffle_partitions=settings.shuffle_partitions,
                confs=None if settings.master else QUICK_COMPILER,
            )
        stack.callback(spark.stop)
        _stop_on_interrupt(stop)
        reports = [run(settings, spark, bootstrap_servers, dsn, view, stop)]
        if compare and not stop.is_set():
            other = replace(settings, trigger="micro-batch", topic_prefix=f"{settings.topic_prefix}micro-batch.")
            reports.append(run(other, spark, bootstrap_servers, dsn, view, stop))
    return reports


def _stop_on_interrupt(stop: threading.Event) -> None:
    # PySpark's own handler would cancel the running jobs, and with them the queries.
    def handle(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, handle)


if __name__ == "__main__":
    sys.exit(main())
