"""
Measure how late a time-out is: append time of `unfilled` minus the deadline of its slot.

What arrives are options; what leaves is one line of order statistics, with the load that they were taken at.
Time-outs come from a micro-batch query, so they wait for the batch that runs when they fall due, and for the next.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql.streaming.query import StreamingQuery

from examples.attribution.events_to_timeouts import events_to_timeouts
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC, EVENTS_TOPIC, create_topics
from examples.measure.percentiles import percentiles
from examples.realtime.queries import raise_if_failed
from examples.services import kafka_broker
from examples.services.spark import build_session

WARM_UP_SECONDS = 40
DRAIN_SECONDS = 60


@dataclass(frozen=True)
class Delays:
    """What was measured; times in milliseconds."""

    requests: int
    """Requests after the warm-up; none of them gets an impression."""
    delays_ms: list[int]
    """Of each of them that timed out."""
    batches_ms: list[int]
    """How long the batches after the warm-up took."""


def timeout_delay(settings: Settings, interval_seconds: float) -> Delays:
    """Send requests at `settings.rate` that nobody answers, and time their time-outs."""
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
        writer = writer.option("checkpointLocation", stack.enter_context(tempfile.TemporaryDirectory()))
        query = writer.trigger(processingTime=f"{interval_seconds} seconds").start()
        stack.callback(query.stop)
        consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "timeout-delay"})
        stack.callback(consumer.close)
        partitions = range(settings.partitions)
        consumer.assign([TopicPartition(settings.topic(ATTRIBUTED_TOPIC), partition, 0) for partition in partitions])
        return _measured(settings, query, Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0}), consumer)


def _measured(settings: Settings, query: StreamingQuery, producer: Producer, consumer: Consumer) -> Delays:
    seconds = WARM_UP_SECONDS + settings.duration
    counted_from = int((time.time() + WARM_UP_SECONDS) * 1000)
    sent: list[int] = []
    sender = threading.Thread(target=_send, args=(settings, producer, seconds, sent), daemon=True)
    sender.start()
    found: dict[str, int] = {}
    deadline = time.monotonic() + seconds + DRAIN_SECONDS
    while (sender.is_alive() or len(found) < len(sent)) and time.monotonic() < deadline:
        raise_if_failed([query])
        for message in consumer.consume(500, 0.2):
            result: dict[str, Any] = json.loads(message.value() or b"")
            due_at = result["effective_ts"] + settings.windows.request_to_impression_ms
            found.setdefault(result["result_id"], message.timestamp()[1] - due_at)
    delays = [delay for key, delay in found.items() if int(key.split("/")[1]) >= counted_from]
    batches = [p.durationMs["triggerExecution"] for p in query.recentProgress if p.numInputRows]
    return Delays(sum(at >= counted_from for at in sent), delays, batches[len(batches) // 3 :])


def _send(settings: Settings, producer: Producer, seconds: float, sent: list[int]) -> None:
    start, pause = time.monotonic(), threading.Event()
    while (at := len(sent) / settings.rate) < seconds:
        pause.wait(max(0, start + at - time.monotonic()))
        now, name = int(time.time() * 1000), f"t{len(sent)}"
        times = dict.fromkeys(("effective_ts", "request_ts", "server_ts", "appended_at"), now)
        event = {**times, "event_id": name, "transaction_id": name, "kind": "request", "campaign_id": "c"}
        value = json.dumps({**event, "src": f"src:0:{name}", "slots": ["s"]}).encode()
        producer.produce(settings.topic(EVENTS_TOPIC), value, name.encode())
        producer.poll(0)
        sent.append(now)
    producer.flush(30)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a request never timed out."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.benchmarks.timeout_lateness",
        description="How late `unfilled` is, on a broker of its own.",
        epilog="example: python -m examples.benchmarks.timeout_lateness --rate 50 --seconds 60 --interval-seconds 1",
    )
    parser.add_argument("--rate", type=float, default=50, help="requests per second")
    parser.add_argument("--seconds", type=float, default=60, help="after the warm-up")
    parser.add_argument("--interval-seconds", type=float, default=0, help="of the micro-batch trigger")
    parser.add_argument("--time-scale", type=int, default=100, help="divisor of all windows")
    options = parser.parse_args(arguments)
    settings = replace(Settings(), rate=options.rate, duration=options.seconds, time_scale=options.time_scale, slots=4)
    delays = timeout_delay(settings, options.interval_seconds)
    p50, p99, most = percentiles(delays.delays_ms or [0], (0.5, 0.99, 1))
    [batch_p50] = percentiles(delays.batches_ms or [0], [0.5])
    print(
        f"{len(delays.delays_ms)} of {delays.requests} time-outs, late by p50 {p50:g} ms, p99 {p99:g} ms, "
        f"max {most:g} ms; batches p50 {batch_p50:.0f} ms; "
        f"{options.rate:g}/s, interval {options.interval_seconds:g} s, {os.cpu_count()} CPUs, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    return 0 if len(delays.delays_ms) == delays.requests else 1


if __name__ == "__main__":
    sys.exit(main())
