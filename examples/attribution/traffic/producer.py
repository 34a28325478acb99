"""
Send traffic to Kafka on its schedule, whatever the pipeline does.

What arrives are records with the times at which they are due; what leaves are Kafka records with two headers: the
intended send time `t0` (milliseconds), and `label`, what the generator made of it, which the pipeline never reads.
Real-time mode demands an open loop to be measured: the sender follows its schedule and never waits for results.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile

from confluent_kafka import KafkaError, Message, Producer

from examples.attribution.settings import Settings
from examples.attribution.traffic.generator import Record, Traffic
from examples.kafka.client import CLIENT

FLUSH_SECONDS = 60
PRODUCER = CLIENT | {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 0,
    # The Java client's default: records of one key meet in one partition whoever sends them.
    "partitioner": "murmur2_random",
    "queue.buffering.max.messages": 1_000_000,
    "message.max.bytes": 2_000_000,
    # Errors only: a broker that has just started makes the client warn while it retries.
    "log_level": 3,
}
Headers = list[tuple[str, str | bytes | None]]


@dataclass
class Sent:
    """What a sender has done so far; the measured part comes after the warm-up."""

    started_at: float
    """Epoch second of the first record's intended send time."""
    records: int = 0
    failed: int = 0
    measured_seconds: float = 0
    lags_ms: list[float] = field(default_factory=list)
    """Milliseconds between intended and actual send of each record of the measured part."""

    def measured_from_ms(self, settings: Settings) -> float:
        """Return the UTC milliseconds from which records are measured."""
        return (self.started_at + settings.warm_up_seconds) * 1000

    @property
    def rate(self) -> float:
        """Return the achieved rate of the measured part, in records per second."""
        return len(self.lags_ms) / self.measured_seconds if self.measured_seconds else 0.0


def send(
    bootstrap_servers: str, settings: Settings, records: Iterator[Record], sent: Sent, stop: threading.Event
) -> None:
    """Send `records` at their times until they end or `stop` is set, then flush; `sent` is updated on the way."""
    producer = Producer({**PRODUCER, "bootstrap.servers": bootstrap_servers})

    def delivered(error: KafkaError | None, _: Message) -> None:
        sent.failed += error is not None

    # The schedule follows a clock that nobody sets.
    start = time.monotonic() + sent.started_at - time.time()
    for record in records:
        wait = start + record.send_at - time.monotonic()
        if stop.wait(wait) if wait > 0 else stop.is_set():
            break
        headers: Headers = [("t0", str(int((sent.started_at + record.send_at) * 1000))), ("label", record.label)]
        producer.produce(settings.topic(record.topic), record.value, record.key, headers=headers, on_delivery=delivered)
        producer.poll(0)
        sent.records += 1
        sent_at = time.monotonic() - start
        if record.send_at >= settings.warm_up_seconds:
            sent.lags_ms.append((sent_at - record.send_at) * 1000)
            sent.measured_seconds = max(sent_at - settings.warm_up_seconds, 1 / settings.rate)
    sent.failed += producer.flush(FLUSH_SECONDS)


def until_the_end(traffic: Traffic) -> Iterator[Record]:
    """Yield the records of a run: for ever, if it runs until Ctrl-C."""
    settings = traffic.settings
    if not settings.duration:
        return traffic.records()
    end = settings.warm_up_seconds + settings.duration
    return takewhile(lambda record: record.send_at < end, traffic.records())


@contextmanager
def sending(
    bootstrap_servers: str, settings: Settings, records: Iterator[Record], sent: Sent, stop: threading.Event
) -> Iterator[threading.Thread]:
    """Yield the thread that sends `records`; an error in the block ends it, otherwise the block waits for it."""
    sender = threading.Thread(target=send, args=(bootstrap_servers, settings, records, sent, stop), daemon=True)
    sender.start()
    try:
        yield sender
    except BaseException:
        stop.set()
        raise
    finally:
        sender.join()
