import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Producer

from spark_rtm.commands.template import job
from spark_rtm.kafka import topics
from spark_rtm.kafka.consumer import COMMITTED, UNCOMMITTED, consumer_from_start, is_at_end, read_topic
from spark_rtm.kafka.topics import CLOCK, REJECT_TOPIC, available, ensure_topics, require_append_time
from tests.helpers import eventually, new_topic, produce

services = pytest.mark.services


@services
def test_missing_topics_are_created_and_existing_ones_kept(kafka: str) -> None:
    """A new topic gets the requested partitions and append times; an existing topic keeps its partitions."""
    existing, missing = new_topic(kafka, 3), f"test-{uuid.uuid4().hex[:8]}"

    assert {existing: 3, missing: 2} == ensure_topics(kafka, [existing, missing], 2)

    # The local broker has the same default, which the existing topic uses.
    require_append_time(kafka, [existing, missing], "")


@services
def test_programs_can_create_the_same_topics_at_once(kafka: str) -> None:
    names = [f"test-{uuid.uuid4().hex[:8]}" for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(ensure_topics, kafka, names, 1) for _ in range(8)]

    assert [dict.fromkeys(names, 1)] * 8 == [one.result() for one in found]


@services
def test_topic_that_cannot_be_created_is_named_with_a_remedy(kafka: str) -> None:
    with pytest.raises(RuntimeError, match=r"cannot create topic 'not/valid': .*create the topic yourself"):
        ensure_topics(kafka, ["not/valid"], 1)


@services
def test_topic_with_the_clock_of_the_senders_is_refused(kafka: str) -> None:
    """Clocks of different machines disagree, so differences between their times are not latencies."""
    topic = f"test-{uuid.uuid4().hex[:8]}"
    ensure_topics(kafka, [topic], 1, {topic: {CLOCK: "CreateTime"}})

    with pytest.raises(ValueError, match=f"topic '{topic}' has {CLOCK}=CreateTime, .* or use another one"):
        require_append_time(kafka, [topic], "use another one")


def test_absent_broker_is_an_error_instead_of_a_wait(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The job of a new project ends with this message before Spark starts, and the client logs nothing."""
    monkeypatch.setattr(topics, "LIST_TIMEOUT_SECONDS", 0.5)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    monkeypatch.setenv("CHECKPOINTS", "checkpoints")

    with pytest.raises(SystemExit, match=r"no broker responds at '127\.0\.0\.1:1'.*KAFKA_BOOTSTRAP_SERVERS"):
        job.main()
    assert ("", "") == capfd.readouterr()


def test_settings_that_event_hubs_lacks_are_left_out() -> None:
    conf = REJECT_TOPIC | {"cleanup.policy": "compact"}
    assert {"cleanup.policy": "compact"} == available(conf, "ns.servicebus.windows.net:9093")
    assert conf == available(conf, "broker:9092")


@services
def test_topic_is_read_to_its_end_in_the_order_of_each_partition(kafka: str) -> None:
    topic = new_topic(kafka, 2)
    produce(kafka, topic, [(n % 2, b"%d" % n) for n in range(2_500)])
    produce(kafka, topic, [(1, None)])

    records = read_topic(kafka, topic)

    values = {partition: [r.value() for r in records if r.partition() == partition] for partition in (0, 1)}
    assert {0: [b"%d" % n for n in range(0, 2_500, 2)], 1: [*(b"%d" % n for n in range(1, 2_500, 2)), None]} == values


@services
@pytest.mark.parametrize("ends", [(), ("commit",), ("abort",), ("commit", "abort"), ("commit", ""), ("abort", "")])
def test_topic_with_transactions_is_read_to_its_end(kafka: str, ends: tuple[str, ...]) -> None:
    """Transaction markers and aborted records have offsets; readers of committed records stop at open transactions."""
    topic = new_topic(kafka, 2)
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": topic})
    producer.init_transactions()
    for value, end in zip("ab", ends, strict=False):
        producer.begin_transaction()
        producer.produce(topic, value, partition=0)
        producer.flush()
        if end:
            getattr(producer, f"{end}_transaction")()

    for level, expected in ((COMMITTED, "a" * ends.count("commit")), (UNCOMMITTED, "ab"[: len(ends)])):
        found = read_topic(kafka, topic, isolation_level=level, deadline_seconds=20)
        assert expected == "".join((record.value() or b"").decode() for record in found)


@services
def test_missing_records_end_the_wait_with_what_was_read(kafka: str) -> None:
    topic = new_topic(kafka, 1)
    produce(kafka, topic, [(0, b"only")])

    with pytest.raises(TimeoutError, match=rf"timed out after 1 s waiting for 2 or more records in {topic}; 1 arrived"):
        read_topic(kafka, topic, min_records=2, deadline_seconds=1)


@services
def test_consumer_is_at_the_end_only_until_the_next_record(kafka: str) -> None:
    topic = new_topic(kafka, 1)
    consumer = consumer_from_start(kafka, {topic: 1})

    assert is_at_end(consumer)
    produce(kafka, topic, [(0, b"next")])
    assert not is_at_end(consumer)
    eventually(lambda: consumer.consume(1, 0.1), 60, "the record")
    assert is_at_end(consumer)
    consumer.close()
