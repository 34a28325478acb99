"""
Measure how late timeouts fire.

Run the benchmark with `make bench-timeout-lateness`. Lateness is the append time of an `unfilled` event minus the
deadline of its ad slot. Timeouts run in a micro-batch query, so a due timeout waits for the end of the running batch,
and then for the next batch.
"""

import json
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import Producer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import BenchmarkOptions
from benchmarks.probes.probe import latency_text, machine_text, outcome_of, send_all, when_due
from examples.attribution.events_to_timeouts import events_to_timeouts
from examples.attribution.settings import DemoSettings, Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC, EVENTS_TOPIC, create_topics
from spark_rtm.kafka.consumer import read_topic
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.services import kafka_broker, run_folder
from spark_rtm.services.spark import build_session

WARM_UP_SECONDS = 40
DRAIN_SECONDS = 20


@dataclass(frozen=True)
class Options(BenchmarkOptions):
    """Options of this benchmark."""

    duration: float = 60
    """Seconds of measured requests after the warm-up."""
    rate: float = 50
    """Requests per second."""
    interval_seconds: float = 0
    """Trigger interval of the micro-batch query in seconds. With 0, each batch starts right after the previous one."""
    time_scale: int = 100
    """Divisor of all time windows."""


def measure(options: Options, console: Console) -> Outcome:
    """Print the lateness; a request that did not time out is a problem."""
    settings = replace(
        DemoSettings(), rate=options.rate, duration=options.duration, time_scale=options.time_scale, slots=4
    )
    sent_ms = list[int]()
    with ExitStack() as stack:
        servers = stack.enter_context(kafka_broker())
        create_topics(servers, settings.topic_prefix, settings.partitions)
        spark = build_session("timeout-lateness", slots=settings.slots, shuffle_partitions=settings.shuffle_partitions)
        stack.callback(spark.stop)
        checkpoint = stack.enter_context(tempfile.TemporaryDirectory(dir=run_folder()))
        query = start(spark, settings, servers, checkpoint, options.interval_seconds)
        stack.callback(query.stop)
        counted_from_ms = int((time.time() + WARM_UP_SECONDS) * 1000)
        send_all(lambda: _send(servers, settings, sent_ms), query, DRAIN_SECONDS + options.interval_seconds)
        batches_ms = [batch.durationMs["triggerExecution"] for batch in query.recentProgress if batch.numInputRows]
        found = lateness_ms(servers, settings, counted_from_ms)
    requests = sum(at_ms >= counted_from_ms for at_ms in sent_ms)
    [batch_p50_ms] = percentiles(batches_ms[len(batches_ms) // 3 :] or [0], [0.5])
    console.print(
        f"{len(found)} of {requests} requests timed out; "
        f"lateness {latency_text(found)}; batches p50 {batch_p50_ms:.0f} ms; "
        f"{options.rate:g} requests/s, interval {options.interval_seconds:g} s, {machine_text()}",
        soft_wrap=True,
    )
    problems = [f"{requests - len(found)} requests did not time out"] if len(found) < requests else []
    load = {"rate": options.rate, "interval_seconds": options.interval_seconds}
    return outcome_of("timeout-lateness", found, requests, problems, **load)


def start(
    spark: SparkSession, settings: Settings, servers: str, checkpoint: str, interval_seconds: float
) -> StreamingQuery:
    """Start the query of timeouts in micro-batch mode."""
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
    source = source.option("subscribe", settings.topic(EVENTS_TOPIC)).option("startingOffsets", "earliest")
    writer = events_to_timeouts(source.load(), settings).writeStream.format("kafka").outputMode("update")
    writer = writer.option("kafka.bootstrap.servers", servers).option("kafka.linger.ms", "0")
    writer = writer.option("topic", settings.topic(ATTRIBUTED_TOPIC)).option("checkpointLocation", checkpoint)
    return writer.trigger(processingTime=f"{interval_seconds} seconds").start()


def lateness_ms(servers: str, settings: Settings, counted_from_ms: int) -> list[int]:
    """Return how late the timeout of each request from a time on was appended, in milliseconds."""
    late_ms: dict[str, int] = {}
    for message in read_topic(servers, settings.topic(ATTRIBUTED_TOPIC)):
        result: dict[str, Any] = json.loads(message.value() or b"")
        due_ms = result["effective_ts"] + settings.windows.request_to_impression_ms
        late_ms.setdefault(result["result_id"], message.timestamp()[1] - due_ms)
    return [late for key, late in late_ms.items() if int(key.split("/")[1]) >= counted_from_ms]


def _send(servers: str, settings: Settings, sent_ms: list[int]) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    requests = int(settings.rate * (WARM_UP_SECONDS + settings.duration))
    for number in when_due((number / settings.rate, number) for number in range(requests)):
        now, name = int(time.time() * 1000), f"t{number}"
        times = dict.fromkeys(("effective_ts", "request_ts", "server_ts", "appended_at"), now)
        event = {**times, "event_id": name, "transaction_id": name, "kind": "request", "campaign_id": "c"}
        value = json.dumps({**event, "src": f"src:0:{name}", "slots": ["s"]}).encode()
        producer.produce(settings.topic(EVENTS_TOPIC), value, name.encode())
        producer.poll(0)
        sent_ms.append(now)
    producer.flush(30)


BENCHMARK = Benchmark(
    "timeout-lateness",
    __doc__,
    Options,
    measure,
    example="--rate 50 --duration 60 --interval-seconds 1",
    presets={"quick": {"duration": 9}},
)
