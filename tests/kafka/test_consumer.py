import pytest

from spark_rtm.kafka.consumer import consumer_from_start, is_at_end, read_topic
from tests.helpers import eventually, new_topic, produce

pytestmark = pytest.mark.services


def test_topic_is_read_to_its_end_in_the_order_of_each_partition(kafka: str) -> None:
    topic = new_topic(kafka, 2)
    produce(kafka, topic, [(n % 2, b"%d" % n) for n in range(2_500)])
    produce(kafka, topic, [(1, None)])

    records = read_topic(kafka, topic)

    values = {partition: [r.value() for r in records if r.partition() == partition] for partition in (0, 1)}
    assert {0: [b"%d" % n for n in range(0, 2_500, 2)], 1: [*(b"%d" % n for n in range(1, 2_500, 2)), None]} == values


def test_missing_records_end_the_wait_with_what_was_read(kafka: str) -> None:
    topic = new_topic(kafka, 1)
    produce(kafka, topic, [(0, b"only")])

    with pytest.raises(TimeoutError, match=rf"timed out after 1 s waiting for 2 or more records in {topic}; 1 arrived"):
        read_topic(kafka, topic, min_records=2, deadline_seconds=1)


def test_consumer_is_at_the_end_only_until_the_next_record(kafka: str) -> None:
    topic = new_topic(kafka, 1)
    consumer = consumer_from_start(kafka, {topic: 1})

    assert is_at_end(consumer)
    produce(kafka, topic, [(0, b"next")])
    assert not is_at_end(consumer)
    eventually(lambda: consumer.consume(1, 0.1), 60, "the record")
    assert is_at_end(consumer)
    consumer.close()
