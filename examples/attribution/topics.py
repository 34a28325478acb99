"""Define the topics of the pipeline, and create them in Kafka."""

from collections.abc import Mapping

from spark_rtm.kafka.topics import APPEND_TIME, REJECT_TOPIC, ensure_topics, require_append_time

SOURCE_TOPICS = ("ad-requests", "ad-impressions", "ad-callbacks")
EVENTS_TOPIC = "events"
REJECTED_TOPIC = "ad-rejected"
ATTRIBUTED_TOPIC = "ad-attributed"
PACING_TOPIC = "ad-pacing"
ERASURES_TOPIC = "ad-erasures"
CREDITS_TOPIC = "ad-credits"
TICKS_TOPIC = "ad-ticks"
"""Topic of the ticks that make timers fire in real-time mode. `spark_rtm.kafka.ticks` creates this topic."""
TOPICS = (
    *SOURCE_TOPICS,
    EVENTS_TOPIC,
    REJECTED_TOPIC,
    ATTRIBUTED_TOPIC,
    PACING_TOPIC,
    ERASURES_TOPIC,
    CREDITS_TOPIC,
)


def create_topics(
    bootstrap_servers: str, topic_prefix: str, partitions: int, login: Mapping[str, str] | None = None
) -> dict[str, int]:
    """
    Create missing topics, and return the number of partitions by topic name. The names have no prefix.

    `login` contains further options of the client, as `client_login` returns them.
    Raise ValueError if an existing topic does not store append times.
    """
    names = {topic_prefix + name: name for name in TOPICS}
    confs = dict.fromkeys(names, APPEND_TIME) | {topic_prefix + REJECTED_TOPIC: REJECT_TOPIC}
    counts = ensure_topics(bootstrap_servers, names, partitions, confs, login)
    require_append_time(bootstrap_servers, names, "use another --topic-prefix", login)
    return {names[topic]: count for topic, count in counts.items()}
