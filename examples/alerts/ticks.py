"""
Write a tick to a topic every 20 ms, so timers that are due fire without delay.

A timer that is due fires with the next row of its state partition, and rows from devices can be rare.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from confluent_kafka import Producer

from examples.alerts.job import Options
from examples.kafka.topics import ensure_topics

TICKS_TOPIC = "heartbeats-ticks"
INTERVAL_MS = 20
# A tick that the broker has not accepted within this time is useless.
TIMEOUT_MS = 1_000


@contextmanager
def ticking(options: Options) -> Iterator[None]:
    """
    Write ticks from a thread until the block ends; create the topic with one partition if it is missing.

    Kafka keeps ticks as long as other records, about 2 GB per week: a query cannot continue from deleted ticks.
    """
    topic = options.topic_prefix + TICKS_TOPIC
    ensure_topics(options.bootstrap_servers, [topic], partitions=1)
    stop = threading.Event()
    ticker = threading.Thread(target=_tick, args=(options.bootstrap_servers, topic, stop), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        stop.set()
        ticker.join()


def _tick(bootstrap_servers: str, topic: str, stop: threading.Event) -> None:
    producer = Producer(
        {"bootstrap.servers": bootstrap_servers, "linger.ms": 0, "message.timeout.ms": TIMEOUT_MS, "acks": 1}
    )
    while not stop.wait(INTERVAL_MS / 1000):
        # While the broker is unreachable, the queue fills up; its ticks expire after their timeout.
        with suppress(BufferError):
            producer.produce(topic, b"")
        producer.poll(0)
    producer.flush(TIMEOUT_MS / 1000)
