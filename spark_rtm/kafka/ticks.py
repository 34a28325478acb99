"""
Write a tick to a topic every 20 ms, so that due timers fire without a long delay.

In real-time mode, a due timer fires when the next row of its state partition arrives, and rows can be rare.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from confluent_kafka import Producer

from spark_rtm.kafka.topics import ensure_topics

INTERVAL_MS = 20
# The producer discards a tick that the broker has not accepted within this time.
TIMEOUT_MS = 1_000


@contextmanager
def ticking(bootstrap_servers: str, topic: str) -> Iterator[None]:
    """
    Write ticks in a thread until the block ends. Create the topic with one partition if the topic does not exist.

    The tick topic has the default retention, because a query cannot continue from a deleted offset. A week of ticks
    takes about 2 GB.
    """
    ensure_topics(bootstrap_servers, [topic], partitions=1)
    stop = threading.Event()
    ticker = threading.Thread(target=_tick, args=(bootstrap_servers, topic, stop), daemon=True)
    ticker.start()
    try:
        yield
    finally:
        stop.set()
        ticker.join()


def _tick(bootstrap_servers: str, topic: str, stop: threading.Event) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "linger.ms": 0,
            "message.timeout.ms": TIMEOUT_MS,
            "acks": 1,
            "log_level": 3,
        }
    )
    while not stop.wait(INTERVAL_MS / 1000):
        # While the broker is unreachable, the queue fills up, and the ticks in the queue expire after their timeout.
        with suppress(BufferError):
            producer.produce(topic, b"")
        producer.poll(0)
    producer.flush(TIMEOUT_MS / 1000)
