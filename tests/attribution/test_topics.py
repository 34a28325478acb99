import uuid

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from examples.attribution.settings import Settings
from examples.attribution.topics import TOPICS, create_topics

pytestmark = pytest.mark.services


def test_topics_are_created_once_with_append_time(kafka: str, settings: Settings) -> None:
    """A second run uses existing topics with their partitions; the reject topic accepts larger records."""
    again = create_topics(kafka, settings.topic_prefix, partitions=5)

    assert dict.fromkeys(TOPICS, settings.partitions) == again
    admin = AdminClient({"bootstrap.servers": kafka})
    resource = ConfigResource(ResourceType.TOPIC, settings.topic("ad-rejected"))
    config = admin.describe_configs([resource])[resource].result(30)
    assert ("LogAppendTime", "2000000") == (config["message.timestamp.type"].value, config["max.message.bytes"].value)


def test_existing_topic_with_sender_times_is_rejected(kafka: str) -> None:
    """A run does not start if its latencies would compare clocks of different machines."""
    settings = Settings(topic_prefix=f"test-{uuid.uuid4().hex[:8]}.")
    admin, name = AdminClient({"bootstrap.servers": kafka}), settings.topic("events")
    admin.create_topics([NewTopic(name, 1, config={"message.timestamp.type": "CreateTime"})])[name].result(30)

    with pytest.raises(ValueError, match=f"'{name}' has message.timestamp.type=CreateTime.*another --topic-prefix"):
        create_topics(kafka, settings.topic_prefix, partitions=1)
