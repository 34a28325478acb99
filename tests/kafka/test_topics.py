import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from spark_rtm.kafka.topics import CLOCK, ensure_topics, require_append_time
from tests.helpers import new_topic

services = pytest.mark.services


@services
def test_missing_topics_are_created_and_existing_ones_kept(kafka: str) -> None:
    """A new topic gets the requested partitions and append times; an existing topic keeps its partitions."""
    existing, missing = new_topic(kafka, 3), f"test-{uuid.uuid4().hex[:8]}"

    assert {existing: 3, missing: 2} == ensure_topics(kafka, [existing, missing], 2)

    admin, resource = AdminClient({"bootstrap.servers": kafka}), ConfigResource(ResourceType.TOPIC, missing)
    config = admin.describe_configs([resource])[resource].result(30)
    assert "LogAppendTime" == config[CLOCK].value


@services
def test_programs_can_create_the_same_topics_at_once(kafka: str) -> None:
    topics = [f"test-{uuid.uuid4().hex[:8]}" for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(ensure_topics, kafka, topics, 1) for _ in range(8)]

    assert [dict.fromkeys(topics, 1)] * 8 == [one.result() for one in found]


@services
def test_topic_that_cannot_be_created_is_named_with_a_remedy(kafka: str) -> None:
    with pytest.raises(RuntimeError, match=r"cannot create topic 'not/valid': .*create the topic yourself"):
        ensure_topics(kafka, ["not/valid"], 1)


@services
def test_topic_with_the_clock_of_the_senders_is_refused(kafka: str) -> None:
    """Clocks of different machines disagree, so their differences are not latencies."""
    topic = f"test-{uuid.uuid4().hex[:8]}"
    ensure_topics(kafka, [topic], 1, {topic: {CLOCK: "CreateTime"}})

    with pytest.raises(ValueError, match=f"topic '{topic}' has {CLOCK}=CreateTime, .* or use another one"):
        require_append_time(kafka, [topic], "use another one")


def test_absent_broker_is_an_error_instead_of_a_wait() -> None:
    with pytest.raises(RuntimeError, match=r"no broker responds at '127\.0\.0\.1:1'.*KAFKA_BOOTSTRAP_SERVERS"):
        ensure_topics("127.0.0.1:1", ["any"], 1)
