"""
Create the topics that a job lacks.

Names arrive; the number of partitions of each topic leaves.
Real-time mode demands this before the start: with nobody at the address a query waits without an error, and a target
topic that does not exist blocks a partition before it ends the query.
"""

from collections.abc import Iterable

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from examples.realtime.decoding import MOST_RAW_BYTES
from examples.realtime.slots import wait_until

TIMEOUT_SECONDS = 10
CONFIG = {
    # Latencies are differences of append times.
    "message.timestamp.type": "LogAppendTime",
    # A rejected record keeps its raw value and gets headers on top.
    "max.message.bytes": str(2 * MOST_RAW_BYTES),
}


def partitions_of(bootstrap_servers: str, topics: Iterable[str], partitions: int) -> dict[str, int]:
    """Return the partitions of each topic; what is missing is created with `partitions`."""
    admin, wanted = AdminClient({"bootstrap.servers": bootstrap_servers}), set(topics)
    missing = wanted - _found(admin, bootstrap_servers).keys()
    if missing:
        new = [NewTopic(topic, partitions, config=CONFIG) for topic in sorted(missing)]
        for topic, created in admin.create_topics(new).items():
            try:
                created.result(TIMEOUT_SECONDS)
            except KafkaException as error:
                reason = error.args[0].str()
                raise RuntimeError(f"topic {topic!r} could not be created: {reason}; create it yourself") from error
    # A created topic reaches the broker's own metadata a moment later.
    wait_until(lambda: _found(admin, bootstrap_servers).keys() >= wanted, TIMEOUT_SECONDS, "the created topics")
    return {topic: count for topic, count in _found(admin, bootstrap_servers).items() if topic in wanted}


def _found(admin: AdminClient, bootstrap_servers: str) -> dict[str, int]:
    try:
        topics = admin.list_topics(timeout=TIMEOUT_SECONDS).topics
    except KafkaException as error:
        raise RuntimeError(
            f"no broker answers at {bootstrap_servers!r}, so the query would wait for ever without an error; "
            f"check KAFKA_BOOTSTRAP_SERVERS"
        ) from error
    return {name: len(topic.partitions) for name, topic in topics.items()}
