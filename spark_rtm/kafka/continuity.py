"""
Check that a consumer with externally stored offsets can continue without missing a record.

A Kafka consumer continues without an error if the records at its offset were deleted, or if the topic was recreated.
These checks raise an error instead, as Spark's Kafka source does by default.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from spark_rtm.kafka.consumer import CLIENT, REQUEST_TIMEOUT_SECONDS, TRANSIENT_ERRORS
from spark_rtm.realtime.queries import wait_until

NO_RESET = {"auto.offset.reset": "error"}
"""Consumer setting that raises an error if the records at the consumer's offset no longer exist."""
# A broker can return these errors shortly after a restart or the creation of the topic.
TEMPORARY_ERRORS = (
    *TRANSIENT_ERRORS,
    KafkaError._TIMED_OUT,  # noqa: SLF001 - documented name
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
)
START_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class TopicState:
    """A topic's id and partition count. A recreated topic has a different id."""

    topic: str
    topic_id: str
    partitions: int

    def require_id(self, stored_ids: set[str]) -> None:
        """Raise RuntimeError if stored offsets belong to a deleted topic of the same name."""
        others = sorted(stored_ids - {self.topic_id})
        if others:
            raise RuntimeError(
                f"topic {self.topic!r} was deleted and created again: its id is {self.topic_id}, but the stored "
                f"offsets belong to id {', '.join(others)}, so records would be skipped; delete the stored offsets and "
                "the rows copied from the old topic, or use another topic prefix or database"
            )


def admin_client(bootstrap_servers: str) -> AdminClient:
    """Return an admin client for `topic_state`."""
    return AdminClient({**CLIENT, "bootstrap.servers": bootstrap_servers, "log_level": 2})


def topic_state(admin: AdminClient, topic: str) -> TopicState:
    """Return the current state of a topic. Raise KafkaException if the request fails."""
    described = admin.describe_topics(TopicCollection([topic]), request_timeout=REQUEST_TIMEOUT_SECONDS)
    found = described[topic].result(2 * REQUEST_TIMEOUT_SECONDS)
    return TopicState(topic, str(found.topic_id), len(found.partitions))


def is_temporary(error: KafkaException) -> bool:
    """Return whether a retry of a failed request can succeed."""
    return error.args[0].code() in TEMPORARY_ERRORS


def first_offsets(consumer: Consumer, state: TopicState, stored: Mapping[int, int]) -> dict[int, int]:
    """Return each partition's stored or first offset. Raise RuntimeError if the records at an offset were deleted."""
    offsets = {}
    for partition in range(state.partitions):
        low, high = _watermarks(consumer, TopicPartition(state.topic, partition))
        offsets[partition] = stored.get(partition, low)
        if not low <= offsets[partition] <= high:
            raise RuntimeError(
                f"partition {partition} of topic {state.topic!r} has offsets from {low} to {high}, but the stored "
                f"offset of the next record is {offsets[partition]}, so records were deleted before they were copied; "
                "increase retention.ms and retention.bytes of the topic, then delete the stored offset. The copy then "
                "continues at the partition's first record, without the deleted records"
            )
    return offsets


def _watermarks(consumer: Consumer, place: TopicPartition) -> tuple[int, int]:
    answers: list[tuple[int, int]] = []

    def is_answered() -> bool:
        try:
            answers.append(consumer.get_watermark_offsets(place, timeout=REQUEST_TIMEOUT_SECONDS))
        except KafkaException as error:
            if not is_temporary(error):
                raise
        return bool(answers)

    wait_until(is_answered, START_TIMEOUT_SECONDS, f"the offsets of partition {place.partition} of {place.topic!r}")
    return answers[0]
