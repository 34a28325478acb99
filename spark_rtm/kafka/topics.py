"""Create topics, and check that existing topics store append times."""

from collections.abc import Iterable, Mapping

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from spark_rtm.realtime.limits import MAX_RAW_BYTES
from spark_rtm.realtime.queries import wait_until

TIMEOUT_SECONDS = 30
LIST_TIMEOUT_SECONDS = 10
CLOCK = "message.timestamp.type"
APPEND_TIME = {CLOCK: "LogAppendTime"}
"""
Topic setting that makes the broker use the append time as the record's timestamp.

Latencies are differences between these append times.
"""
EVENT_HUBS, MAX_BYTES = ".servicebus.windows.net", "max.message.bytes"
PRODUCER_TIME = {
    CLOCK: "CreateTime",
    # By default, the broker rejects records whose time is more than an hour later than the broker's clock.
    "message.timestamp.after.max.ms": str(2**63 - 1),
}
REJECT_TOPIC = APPEND_TIME | {
    # A rejected record contains the source record's raw value and additional headers, so it is larger than its source.
    MAX_BYTES: str(2 * MAX_RAW_BYTES)
}
"""Configuration of a topic for rejected records."""


def ensure_topics(
    bootstrap_servers: str,
    topics: Iterable[str],
    partitions: int,
    confs: Mapping[str, Mapping[str, str]] | None = None,
    login: Mapping[str, str] | None = None,
) -> dict[str, int]:
    """
    Create the missing topics, and return each topic's partition count.

    A new topic has `partitions` partitions. Its configuration is the topic's entry in `confs`, or else `APPEND_TIME`.
    `login` contains further options of the client, as `client_login` returns them.
    Create topics before a query starts. If a target topic is missing, the Kafka sink of OSS 4.3.0 waits 60 s and then
    fails.
    """
    # The client would log each attempt.
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0, **(login or {})})
    names = list(topics)
    existing = _partitions(admin, bootstrap_servers)
    missing = [
        NewTopic(name, partitions, config=available((confs or {}).get(name, APPEND_TIME), bootstrap_servers))
        for name in names
        if name not in existing
    ]
    if missing:
        for topic, created in admin.create_topics(missing, operation_timeout=TIMEOUT_SECONDS).items():
            try:
                created.result(TIMEOUT_SECONDS)
            except KafkaException as error:
                reason = error.args[0]
                # Another program can create a topic after this function has listed the topics.
                if reason.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise RuntimeError(
                        f"cannot create topic {topic!r}: {reason.str()}; grant Create on the topic, or create the "
                        f"topic yourself"
                    ) from error
    # A new topic appears in the broker's metadata with a short delay.
    wait_until(lambda: _partitions(admin, bootstrap_servers).keys() >= set(names), TIMEOUT_SECONDS, "the new topics")
    found = _partitions(admin, bootstrap_servers)
    return {name: found[name] for name in names}


def available(conf: Mapping[str, str], bootstrap_servers: str) -> dict[str, str]:
    """Return the settings of a topic that the service has. Azure Event Hubs lacks the clock and the record length."""
    lacking = {CLOCK, MAX_BYTES} if EVENT_HUBS in bootstrap_servers else set()
    return {name: value for name, value in conf.items() if name not in lacking}


def keep_producer_times(bootstrap_servers: str, topics: Iterable[str]) -> None:
    """Make existing topics store producer timestamps, so that tests can send records with any timestamp."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 3})
    entries = [ConfigEntry(k, v, incremental_operation=AlterConfigOpType.SET) for k, v in PRODUCER_TIME.items()]
    resources = [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries) for topic in topics]
    for changed in admin.incremental_alter_configs(resources).values():
        changed.result(TIMEOUT_SECONDS)


def require_append_time(
    bootstrap_servers: str, topics: Iterable[str], remedy: str, login: Mapping[str, str] | None = None
) -> None:
    """Raise ValueError if a topic stores producer timestamps, not append times. The message ends with `remedy`."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 3, **(login or {})})
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    for resource, described in admin.describe_configs(resources, request_timeout=TIMEOUT_SECONDS).items():
        clock = described.result(TIMEOUT_SECONDS)[CLOCK].value
        if clock != APPEND_TIME[CLOCK]:
            raise ValueError(
                f"topic {resource.name!r} has {CLOCK}={clock}, so latencies would depend on the "
                f"producers' clocks; set {CLOCK}=LogAppendTime on the topic, or {remedy}"
            )


def _partitions(admin: AdminClient, bootstrap_servers: str) -> dict[str, int]:
    try:
        topics = admin.list_topics(timeout=LIST_TIMEOUT_SECONDS).topics
    except KafkaException as error:
        raise RuntimeError(
            f"no broker responds at {bootstrap_servers!r}, so a query would wait without reporting an error; "
            "check KAFKA_BOOTSTRAP_SERVERS and the login with `rtm doctor`"
        ) from error
    return {name: len(topic.partitions) for name, topic in topics.items()}
