"""
Run the whole pipeline: servers, traffic, both queries in one session, a live view, and the reckoning at the end.

What arrives are options; what leaves are a reconciliation, a latency table, and exit status 1 if they differ.
Real-time mode demands what is in sight here: the trigger, the output mode, a checkpoint per query, and enough slots.
"""

import argparse
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from types import FrameType

import psycopg
from confluent_kafka import KafkaException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.attributed_table import stored_results
from examples.attribution.attributed_to_postgres import Follower, attributed_to_postgres
from examples.attribution.events_to_attributed import events_to_attributed
from examples.attribution.kafka_to_events import kafka_to_events
from examples.attribution.latency import Latency, boundary_gaps_ms, latencies
from examples.attribution.ledger import Ledger, LedgerReader
from examples.attribution.reconciliation import Reconciliation, reconcile
from examples.attribution.topics import create_topics
from examples.attribution.traffic import Sent, Traffic, send
from examples.attribution.view import View, show_comparison, show_report
from examples.services import connector, kafka_broker, postgres_server, standalone_cluster
from examples.settings import ATTRIBUTED_TOPIC, EVENTS_TOPIC, SOURCE_TOPICS, Settings
from examples.sinks.metrics import Metrics
from examples.spark_session import assert_real_time, build_session, preflight, raise_if_failed

SOURCE = {"startingOffsets": "earliest", "includeHeaders": "true"}
SINK = {
    # Newer Java clients would wait 5 ms for company.
    "kafka.linger.ms": "0",
    # A rejected record is as large as its source allowed, and headers come on top.
    "kafka.max.request.size": "4000000",
}


QUIET_POLLS = 3


@dataclass(frozen=True)
class Report:
    """What a run has shown."""

    settings: Settings
    reconciliation: Reconciliation
    latencies: list[Latency]
    gaps_ms: dict[str, list[int]]
    """How much longer than its interval each batch took, by query."""
    sent: Sent
    ledger: Ledger
    sink: Metrics
    """What the PostgreSQL sink counted."""


def run(
    settings: Settings, spark: SparkSession, bootstrap_servers: str, dsn: str, view: View, stop: threading.Event
) -> Report:
    """Send traffic through both queries until its time is over or `stop` is set, drain, and reconcile."""
    with ExitStack() as stack:
        partitions = create_topics(bootstrap_servers, settings)
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
            if settings.trigger == "real-time":
                assert_real_time(query)
        sent = Sent(started_at=time.time())
        with _sending(settings, bootstrap_servers, sent, stop) as sender:
            measured_from = (sent.started_at + settings.warm_up_seconds) * 1000
            view.watch(sent, measured_from)
            while sender.is_alive():
                _follow(reader, follower, queries, view)
        _drain(settings, reader, follower, queries, view)
        follower.finish()
        gaps_ms = {query.name: _gaps_ms(query, settings) for query in queries}
    books = reader.ledger
    reconciliation = reconcile(books, settings.windows, stored_results(dsn, settings))
    measured = latencies(books, measured_from)
    return Report(settings, reconciliation, measured, gaps_ms, sent, books, follower.metrics)


def start_queries(
    settings: Settings, spark: SparkSession, bootstrap_servers: str, partitions: dict[str, int], checkpoints: str
) -> list[StreamingQuery]:
    """Start both queries after a check of their slots."""

    def read(*topics: str) -> DataFrame:
        source = spark.readStream.format("kafka").options(**SOURCE).option("kafka.bootstrap.servers", bootstrap_servers)
        return source.option("subscribe", ",".join(settings.topic(topic) for topic in topics)).load()

    streams = {
        "kafka_to_events": kafka_to_events(read(*SOURCE_TOPICS), settings),
        "events_to_attributed": events_to_attributed(read(EVENTS_TOPIC), settings),
    }
    source_partitions = {
        "kafka_to_events": sum(partitions[topic] for topic in SOURCE_TOPICS),
        "events_to_attributed": partitions[EVENTS_TOPIC],
    }
    preflight(spark, {name: (stream, source_partitions[name]) for name, stream in streams.items()})
    queries = []
    for name, stream in streams.items():
        writer = stream.writeStream.format("kafka").options(**SINK).option("kafka.bootstrap.servers", bootstrap_servers)
        if name == "events_to_attributed":  # the other query routes by its topic column
            writer = writer.option("topic", settings.topic(ATTRIBUTED_TOPIC))
        writer = writer.queryName(name).outputMode("update").option("checkpointLocation", f"{checkpoints}/{name}")
        if settings.trigger == "real-time":
            # The keyword is missing in the type hints of PySpark 4.3.0.
            writer = writer.trigger(realTime=f"{settings.interval_seconds} seconds")  # type: ignore[call-overload]
        else:
            writer = writer.trigger(processingTime="0 seconds")
        queries.append(writer.start())
    return queries


@contextmanager
def _sending(
    settings: Settings, bootstrap_servers: str, sent: Sent, stop: threading.Event
) -> Iterator[threading.Thread]:
    # Ids of a second run on the same topics must not meet those of the first.
    traffic = Traffic(settings, run_id=f"{int(sent.started_at):x}", started_at=sent.started_at)
    records = traffic.records()
    if settings.seconds:
        end = settings.warm_up_seconds + settings.seconds
        records = takewhile(lambda record: record.send_at < end, records)
    sender = threading.Thread(target=send, args=(bootstrap_servers, settings, records, sent, stop), daemon=True)
    sender.start()
    try:
        yield sender
    except BaseException:
        stop.set()
        raise
    finally:
        sender.join()


def _follow(
    reader: LedgerReader, follower: Follower, queries: list[StreamingQuery], view: View, *, draining: bool = False
) -> None:
    reader.poll(0.1)
    raise_if_failed(queries)
    follower.raise_if_failed()
    view.show(reader.ledger, draining=draining)


def _drain(
    settings: Settings, reader: LedgerReader, follower: Follower, queries: list[StreamingQuery], view: View
) -> None:
    deadline = time.monotonic() + settings.drain_seconds
    quiet = 0
    # The last record may change several results, and its own may be the first of them: so read until it is quiet.
    while quiet < QUIET_POLLS and time.monotonic() < deadline:
        _follow(reader, follower, queries, view, draining=True)
        quiet = quiet + 1 if reader.is_settled() else 0


def _gaps_ms(query: StreamingQuery, settings: Settings) -> list[int]:
    if settings.trigger != "real-time":
        return []
    return boundary_gaps_ms((p.durationMs["triggerExecution"] for p in query.recentProgress), settings.interval_seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; return 0 if everything reconciles, 1 if not."""
    settings, compare, cluster = _parse(arguments)
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
        spark = build_session(settings)
        stack.callback(spark.stop)
        _stop_on_interrupt(stop)
        reports = [run(settings, spark, bootstrap_servers, dsn, view, stop)]
        if compare and not stop.is_set():
            other = replace(settings, trigger="micro-batch", topic_prefix=f"{settings.topic_prefix}micro-batch.")
            reports.append(run(other, spark, bootstrap_servers, dsn, view, stop))
    return reports


def _parse(arguments: Sequence[str] | None) -> tuple[Settings, bool, bool]:
    parser = argparse.ArgumentParser(
        prog="python -m examples.attribution.pipeline",
        description="Kafka -> Spark real-time mode -> Kafka -> PostgreSQL, with traffic, reconciliation and latencies.",
        epilog="example: python -m examples.attribution.pipeline --seconds 60 --rate 500 --compare",
    )
    default = Settings()
    parser.add_argument("--seconds", type=float, default=default.seconds, help="measured traffic; 0: until Ctrl-C")
    parser.add_argument("--warm-up-seconds", type=float, default=default.warm_up_seconds, help="traffic before that")
    parser.add_argument("--rate", type=float, default=default.rate, help="records per second")
    parser.add_argument("--arrivals", choices=("constant", "poisson"), default=default.arrivals)
    parser.add_argument("--trigger", choices=("real-time", "micro-batch"), default=default.trigger)
    parser.add_argument("--interval-seconds", type=int, default=default.interval_seconds, help="between commits, >= 5")
    parser.add_argument("--time-scale", type=int, default=default.time_scale, help="divisor of all windows")
    parser.add_argument("--seed", type=int, default=default.seed, help="of the traffic")
    parser.add_argument("--topic-prefix", default=default.topic_prefix, help="to keep runs apart on one broker")
    parser.add_argument(
        "--checkpoints", default=default.checkpoints, help="folder that is kept, to go on after a crash"
    )
    parser.add_argument("--slots", type=int, default=default.slots, help="task slots of a local master or the cluster")
    parser.add_argument("--master", default=default.master, help="such as spark://host:7077; empty: local")
    parser.add_argument("--cluster", action="store_true", help="start a standalone cluster and run on it")
    parser.add_argument("--compare", action="store_true", help="run in micro-batch as well; print the ratio")
    options = vars(parser.parse_args(arguments))
    compare, cluster = options.pop("compare"), options.pop("cluster")
    try:
        return Settings(**options), compare, cluster
    except ValueError as error:
        parser.error(str(error))


def _stop_on_interrupt(stop: threading.Event) -> None:
    # PySpark's own handler would cancel the running jobs, and with them the queries.
    def handle(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, handle)


if __name__ == "__main__":
    sys.exit(main())
