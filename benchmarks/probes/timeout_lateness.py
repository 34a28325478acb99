"""
Measure how late timeouts fire.

Run the benchmark with `make bench-timeout-lateness`. Lateness is the append time of an `unfilled` event minus the
deadline of its ad slot. Timeouts run in a micro-batch query, so a due timeout waits for the end of the running batch,
and then for the next batch.
"""

import json
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from benchmarks.harness.benchmark import Benchmark, Outcome
from benchmarks.harness.cli import BenchmarkOptions
from benchmarks.probes.probe import latency_text, machine_text, outcome_of, when_due
from examples.attribution.events_to_timeouts import events_to_timeouts
from examples.attribution.settings import DemoSettings, Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC, EVENTS_TOPIC, create_topics
from spark_rtm.measure.percentiles import percentiles
from spark_rtm.realtime.queries import raise_if_failed
from spark_rtm.services import kafka_broker, run_folder
from spark_rtm.services.spark import build_session

WARM_UP_SECONDS = 40
DRAIN_SECONDS = 60


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


@dataclass(frozen=True)
class Lateness:
    """Lateness of timeouts after the warm-up."""

    requests: int
    """Number of requests. No request gets an impression."""
    lateness_ms: list[int]
    """Lateness of each request that timed out."""
    batches_ms: list[int]
    """Durations of the batches."""


def timeout_lateness(settings: Settings, interval_seconds: float) -> Lateness:
    """Send requests at `settings.rate` that never get an impression, and measure how late their timeouts fire."""
    with ExitStack() as stack:
        bootstrap_servers = stack.enter_context(kafka_broker())
        create_topics(bootstrap_servers, settings.topic_prefix, settings.partitions)
        spark = build_session("timeout-lateness", slots=settings.slots, shuffle_partitions=settings.shuffle_partitions)
        stack.callback(spark.stop)
        source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap_servers)
        source = source.option("subscribe", settings.topic(EVENTS_TOPIC)).option("startingOffsets", "earliest")
        writer = events_to_timeouts(source.load(), settings).writeStream.format("kafka").outputMode("update")
        writer = writer.option("kafka.bootstrap.servers", bootstrap_servers).option("kafka.linger.ms", "0")
        writer = writer.option("topic", settings.topic(ATTRIBUTED_TOPIC))
        writer = writer.option("checkpointLocation", stack.enter_context(tempfile.TemporaryDirectory(dir=run_folder())))
        query = writer.trigger(processingTime=f"{interval_seconds} seconds").start()
        stack.callback(query.stop)
        consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "timeout-lateness"})
        stack.callback(consumer.close)
        partitions = range(settings.partitions)
        consumer.assign([TopicPartition(settings.topic(ATTRIBUTED_TOPIC), partition, 0) for partition in partitions])
        return _measured(settings, query, Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0}), consumer)


def _measured(settings: Settings, query: StreamingQuery, producer: Producer, consumer: Consumer) -> Lateness:
    seconds = WARM_UP_SECONDS + settings.duration
    counted_from_ms = int((time.time() + WARM_UP_SECONDS) * 1000)
    sent_ms: list[int] = []
    sender = threading.Thread(target=_send, args=(settings, producer, seconds, sent_ms), daemon=True)
    sender.start()
    lateness_ms: dict[str, int] = {}
    deadline = time.monotonic() + seconds + DRAIN_SECONDS
    while (sender.is_alive() or len(lateness_ms) < len(sent_ms)) and time.monotonic() < deadline:
        raise_if_failed([query])
        for message in consumer.consume(500, 0.2):
            result: dict[str, Any] = json.loads(message.value() or b"")
            due_ms = result["effective_ts"] + settings.windows.request_to_impression_ms
            lateness_ms.setdefault(result["result_id"], message.timestamp()[1] - due_ms)
    late_ms = [late for key, late in lateness_ms.items() if int(key.split("/")[1]) >= counted_from_ms]
    batches_ms = [p.durationMs["triggerExecution"] for p in query.recentProgress if p.numInputRows]
    requests = sum(at_ms >= counted_from_ms for at_ms in sent_ms)
    return Lateness(requests, late_ms, batches_ms[len(batches_ms) // 3 :])


def _send(settings: Settings, producer: Producer, seconds: float, sent_ms: list[int]) -> None:
    for number in when_due((number / settings.rate, number) for number in range(int(settings.rate * seconds))):
        now, name = int(time.time() * 1000), f"t{number}"
        times = dict.fromkeys(("effective_ts", "request_ts", "server_ts", "appended_at"), now)
        event = {**times, "event_id": name, "transaction_id": name, "kind": "request", "campaign_id": "c"}
        value = json.dumps({**event, "src": f"src:0:{name}", "slots": ["s"]}).encode()
        producer.produce(settings.topic(EVENTS_TOPIC), value, name.encode())
        producer.poll(0)
        sent_ms.append(now)
    producer.flush(30)


def measure(options: Options, console: Console) -> Outcome:
    """Print the lateness; a request that did not time out is a problem."""
    settings = replace(
        DemoSettings(), rate=options.rate, duration=options.duration, time_scale=options.time_scale, slots=4
    )
    found = timeout_lateness(settings, options.interval_seconds)
    [batch_p50_ms] = percentiles(found.batches_ms or [0], [0.5])
    console.print(
        f"{len(found.lateness_ms)} of {found.requests} requests timed out; "
        f"lateness {latency_text(found.lateness_ms)}; batches p50 {batch_p50_ms:.0f} ms; "
        f"{options.rate:g} requests/s, interval {options.interval_seconds:g} s, {machine_text()}",
        soft_wrap=True,
    )
    missing = found.requests - len(found.lateness_ms)
    problems = [f"{missing} requests did not time out"] if missing else []
    load = {"rate": options.rate, "interval_seconds": options.interval_seconds}
    return outcome_of("timeout-lateness", found.lateness_ms, found.requests, problems, **load)


BENCHMARK = Benchmark(
    "timeout-lateness",
    __doc__,
    Options,
    measure,
    example="--rate 50 --duration 60 --interval-seconds 1",
    presets={"quick": {"duration": 9}},
)
