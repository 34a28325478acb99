"""
Create the topics of a run, or check that existing ones fit.

What arrives are settings and a broker; what leaves are the topics, and the number of partitions of each.
Real-time mode demands topics that exist before the start: an unknown target blocks its partition for a minute first.
"""

from concurrent.futures import Future

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from examples.attribution.settings import REJECTED_TOPIC, TOPICS, Settings
from examples.realtime.decoding import MOST_RAW_BYTES
from examples.realtime.slots import wait_until

APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
TIMEOUT_SECONDS = 30


def create_topics(bootstrap_servers: str, settings: Settings) -> dict[str, int]:
    """
    Create what is missing, and return the partitions of each topic by its plain name.

    All topics take the broker's append time as timestamp, because latencies are differences of append times.
    Raises `ValueError` for an existing topic with another clock.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    existing = admin.list_topics(timeout=TIMEOUT_SECONDS).topics
    # A rejected record keeps its raw value and gets headers on top, so its topic takes larger records than any source.
    larger = {"max.message.bytes": str(2 * MOST_RAW_BYTES)}
    missing = [
        NewTopic(
            settings.topic(name), settings.partitions, config=APPEND_TIME | (larger if name == REJECTED_TOPIC else {})
        )
        for name in TOPICS
        if settings.topic(name) not in existing
    ]
    if missing:
        for topic, created in admin.create_topics(missing, operation_timeout=TIMEOUT_SECONDS).items():
            _wait(created, f"topic {topic!r} could not be created; grant Create on it or create it yourself")
    # A created topic reaches the broker's own metadata a moment later.
    wait_until(lambda: _partitions(admin, settings).keys() >= set(TOPICS), TIMEOUT_SECONDS, "the created topics")
    _check_clock(admin, [settings.topic(name) for name in TOPICS])
    return _partitions(admin, settings)


def _partitions(admin: AdminClient, settings: Settings) -> dict[str, int]:
    found = admin.list_topics(timeout=TIMEOUT_SECONDS).topics
    return {name: len(found[settings.topic(name)].partitions) for name in TOPICS if settings.topic(name) in found}


def _wait(created: Future[None], consequence: str) -> None:
    try:
        created.result(TIMEOUT_SECONDS)
    except KafkaException as error:
        raise RuntimeError(f"{consequence}: {error.args[0].str()}") from error


def _check_clock(admin: AdminClient, topics: list[str]) -> None:
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    for resource, described in admin.describe_configs(resources, request_timeout=TIMEOUT_SECONDS).items():
        clock = described.result(TIMEOUT_SECONDS)["message.timestamp.type"].value
        if clock != "LogAppendTime":
            raise ValueError(
                f"topic {resource.name!r} has message.timestamp.type={clock}, so latencies would start and end at the "
                f"senders' clocks; set LogAppendTime on it or use another --topic-prefix"
            )
