"""
Send traffic to Kafka on a fixed schedule, without waiting for results (an open loop).

Each record has two headers. `t0` is the intended send time in UTC milliseconds. `label` is the generator's name for the
kind of record, such as `normal` or `malformed`. The pipeline does not read `label`.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile

from confluent_kafka import KafkaError, Message, Producer

from examples.attribution.settings import Settings, TrafficSettings
from examples.attribution.traffic.generator import ScheduledRecord, TrafficGenerator
from spark_rtm.kafka.consumer import CLIENT

FLUSH_TIMEOUT_SECONDS = 60
PRODUCER_CONF = CLIENT | {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 0,
    # This partitioner is the default of the Java client. With this setting, the Java client and this client send
    # records with the same key to the same partition.
    "partitioner": "murmur2_random",
    "queue.buffering.max.messages": 1_000_000,
    "message.max.bytes": 2_000_000,
    # Log errors only. Otherwise the client logs warnings while it retries requests to a broker that has just started.
    "log_level": 3,
}
Headers = list[tuple[str, str | bytes | None]]


@dataclass
class SendLog:
    """Counts and delays of the records sent so far. The measured part starts after the warm-up."""

    started_at: float
    """Intended send time of the first record, in epoch seconds."""
    records: int = 0
    failed: int = 0
    measured_seconds: float = 0
    lags_ms: list[float] = field(default_factory=list)
    """Delay from the intended to the actual send time of each measured record."""

    def measured_from_ms(self, settings: TrafficSettings) -> float:
        """Return the start of the measured part in UTC milliseconds."""
        return (self.started_at + settings.warm_up_seconds) * 1000

    @property
    def rate(self) -> float:
        """Return the achieved rate of the measured part, in records per second."""
        return len(self.lags_ms) / self.measured_seconds if self.measured_seconds else 0.0


def send(
    bootstrap_servers: str, settings: Settings, records: Iterator[ScheduledRecord], log: SendLog, stop: threading.Event
) -> None:
    """Send `records` on schedule until none is left or `stop` is set, then flush. Update `log` with each record."""
    producer = Producer({**PRODUCER_CONF, "bootstrap.servers": bootstrap_servers})

    def delivered(error: KafkaError | None, _: Message) -> None:
        log.failed += error is not None

    # Use a monotonic clock, because adjustments of the system clock must not change the schedule.
    start = time.monotonic() + log.started_at - time.time()
    for record in records:
        wait_seconds = start + record.send_at - time.monotonic()
        if stop.wait(wait_seconds) if wait_seconds > 0 else stop.is_set():
            break
        headers: Headers = [("t0", str(int((log.started_at + record.send_at) * 1000))), ("label", record.label)]
        producer.produce(settings.topic(record.topic), record.value, record.key, headers=headers, on_delivery=delivered)
        producer.poll(0)
        log.records += 1
        sent_at = time.monotonic() - start
        if record.send_at >= settings.warm_up_seconds:
            log.lags_ms.append((sent_at - record.send_at) * 1000)
            log.measured_seconds = max(sent_at - settings.warm_up_seconds, 1 / settings.rate)
    log.failed += producer.flush(FLUSH_TIMEOUT_SECONDS)


def records_of_run(traffic: TrafficGenerator) -> Iterator[ScheduledRecord]:
    """Yield the records of a run. If the run has no fixed duration, yield records endlessly."""
    settings = traffic.settings
    if not settings.duration:
        return traffic.records()
    end = settings.warm_up_seconds + settings.duration
    return takewhile(lambda record: record.send_at < end, traffic.records())


@contextmanager
def sending(
    bootstrap_servers: str, settings: Settings, records: Iterator[ScheduledRecord], log: SendLog, stop: threading.Event
) -> Iterator[threading.Thread]:
    """Send `records` in a thread while the block runs, then join the thread. An error in the block stops the thread."""
    sender = threading.Thread(target=send, args=(bootstrap_servers, settings, records, log, stop), daemon=True)
    sender.start()
    try:
        yield sender
    except BaseException:
        stop.set()
        raise
    finally:
        sender.join()
