"""
Measure how late alarms of silent devices are: append time of `offline` minus the deadline of its device.

What arrives are options; what leaves is one line of order statistics, with the load that they were taken at.
Real-time mode demands ticks for this; with `--no-ticks` the other devices' heart-beats have to do.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from pyspark.sql.streaming.query import StreamingQuery

from examples.alerts.heartbeats_to_offline import JOB, SILENCE_MS
from examples.alerts.job import Options, start
from examples.alerts.ticks import ticking
from examples.measure.percentiles import percentiles
from examples.realtime.queries import raise_if_failed
from examples.services import kafka_broker
from examples.services.spark import build_session

WARM_UP_SECONDS = 40
DRAIN_SECONDS = 10
BEAT_SECONDS = 0.25
CYCLE_SECONDS = 4.0
"""A device beats in the first half of each cycle and is silent in the second."""


@dataclass(frozen=True)
class Alarms:
    """What was measured after the warm-up; times in milliseconds."""

    silences: int
    """Times that a device was silent for longer than `SILENCE_MS`."""
    delays_ms: list[int]
    """Of the alarm of each of them."""
    false: int
    """Alarms of devices that were not silent."""
    boundaries: int
    """Ends of batches while it was measured."""


def heartbeats_to_offline_delay(options: Options, devices: int, seconds: float, *, with_ticks: bool) -> Alarms:
    """Let devices beat and fall silent, each at its own time, and compare the alarms with the append times."""
    with ExitStack() as stack:
        spark = build_session("offline-lateness", slots=options.slots)
        stack.callback(spark.stop)
        if with_ticks:
            stack.enter_context(ticking(options))
        query = start(JOB, spark, options)
        stack.callback(query.stop)
        counted_from_ms = int((time.time() + WARM_UP_SECONDS) * 1000)
        sender = threading.Thread(target=_send, args=(options, devices, WARM_UP_SECONDS + seconds), daemon=True)
        sender.start()
        while sender.is_alive():
            raise_if_failed([query])
            sender.join(1)
        threading.Event().wait(DRAIN_SECONDS)
        raise_if_failed([query])
        return _compared(options, query, counted_from_ms)


def _send(options: Options, devices: int, seconds: float) -> None:
    producer = Producer({"bootstrap.servers": options.bootstrap_servers, "linger.ms": 0})
    start_at, pause = time.monotonic(), threading.Event()
    for at, device in sorted(_beats(devices, seconds)):
        pause.wait(max(0, start_at + at - time.monotonic()))
        value = json.dumps({"device_id": device, "beat_ts": int(time.time() * 1000)})
        producer.produce(f"{options.topic_prefix}heartbeats", value, device)
        producer.poll(0)
    producer.flush(30)


def _beats(devices: int, seconds: float) -> Iterator[tuple[float, str]]:
    for number in range(devices):
        for cycle in range(int(seconds / CYCLE_SECONDS)):
            since = (cycle + number / devices) * CYCLE_SECONDS
            for beat in range(int(CYCLE_SECONDS / 2 / BEAT_SECONDS)):
                yield since + beat * BEAT_SECONDS, f"d{number}"


def _compared(options: Options, query: StreamingQuery, counted_from_ms: int) -> Alarms:
    seen: dict[str, list[int]] = {}
    for message in _read(options, "heartbeats"):
        seen.setdefault((message.key() or b"").decode(), []).append(message.timestamp()[1])
    silences = {
        f"{device}/{at}"
        for device, times in seen.items()
        for at, after in pairwise([*times, sys.maxsize])
        if after - at > SILENCE_MS and at >= counted_from_ms
    }
    delays: dict[str, int] = {}
    for message in _read(options, "heartbeats-offline"):
        change: dict[str, Any] = json.loads(message.value() or b"")
        if change["status"] == "offline" and change["last_seen_ts"] >= counted_from_ms:
            delays[change["alarm_id"]] = message.timestamp()[1] - change["deadline_ts"]
    found = [delay for alarm, delay in delays.items() if alarm in silences]
    return Alarms(len(silences), found, len(delays.keys() - silences), len(query.recentProgress))


def _read(options: Options, topic: str) -> Iterator[Message]:
    consumer = Consumer({"bootstrap.servers": options.bootstrap_servers, "group.id": "heartbeats-delay"})
    for number in range(options.partitions):
        partition = TopicPartition(options.topic_prefix + topic, number, 0)
        end = consumer.get_watermark_offsets(partition, timeout=10)[1]
        consumer.assign([partition])
        yield from consumer.consume(end, 30) if end else []
    consumer.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a silence had no alarm or a device that was not silent had one."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.benchmarks.offline_lateness",
        description="How late `offline` is, on a broker of its own.",
        epilog="example: python -m examples.benchmarks.offline_lateness --devices 50 --seconds 60",
    )
    parser.add_argument("--devices", type=int, default=50, help="each silent for two seconds in four")
    parser.add_argument("--seconds", type=float, default=60, help="after the warm-up")
    parser.add_argument("--interval-seconds", type=int, default=300, help="between commits, >= 5")
    parser.add_argument("--no-ticks", action="store_true", help="let timers wait for rows of devices")
    chosen = parser.parse_args(arguments)
    with kafka_broker() as bootstrap_servers, tempfile.TemporaryDirectory() as folder:
        options = Options(bootstrap_servers, checkpoint_dir=folder, interval_seconds=chosen.interval_seconds)
        alarms = heartbeats_to_offline_delay(options, chosen.devices, chosen.seconds, with_ticks=not chosen.no_ticks)
    p50, p99, most = percentiles(alarms.delays_ms or [0], (0.5, 0.99, 1))
    print(
        f"{len(alarms.delays_ms)} of {alarms.silences} alarms, late by p50 {p50:g} ms, p99 {p99:g} ms, max {most:g} ms;"
        f" {alarms.false} false; {chosen.devices} devices, {alarms.boundaries} ends of batches, "
        f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}"
    )
    return 0 if len(alarms.delays_ms) == alarms.silences and not alarms.false else 1


if __name__ == "__main__":
    sys.exit(main())
