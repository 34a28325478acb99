"""Run the demonstration once: send traffic, follow the results, drain, and reconcile."""

import tempfile
import threading
import time
from contextlib import ExitStack

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.attributed_table import stored_results
from examples.attribution.attributed_to_postgres import attributed_to_postgres
from examples.attribution.audit.latency import boundary_gaps_ms, latencies
from examples.attribution.audit.reconciliation import reconcile
from examples.attribution.audit.topic_reader import LedgerReader
from examples.attribution.demo.live_view import View
from examples.attribution.demo.monitor import Followed
from examples.attribution.demo.report import Report
from examples.attribution.pacing.throttle import brake
from examples.attribution.pipeline import RULES, hops, is_real_time, start_queries
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC, PACING_TOPIC, create_topics
from examples.attribution.traffic.generator import Traffic
from examples.attribution.traffic.goals import goals
from examples.attribution.traffic.producer import Sent, sending, until_the_end
from examples.measure.cpu import Cpu, CpuMeter
from examples.realtime.proof import assert_real_time


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
        folder = settings.checkpoint_dir or stack.enter_context(tempfile.TemporaryDirectory(prefix="checkpoints-"))
        view.say("starting the queries")
        queries = start_queries(settings, spark, bootstrap_servers, partitions, folder)
        for query in queries:
            stack.callback(query.stop)
        real_time = [q for hop, q in zip(hops(settings), queries, strict=True) if is_real_time(hop, settings)]
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
