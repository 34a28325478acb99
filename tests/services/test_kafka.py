import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from spark_rtm.services.child import free_ports
from spark_rtm.services.files import class_archive
from spark_rtm.services.kafka import LocalKafka, archive_folder, kafka_broker
from spark_rtm.services.local_server import running
from spark_rtm.services.packages import broker_jars

pytestmark = pytest.mark.services

LONG_AGO_MILLISECONDS = 1_000


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalKafka]:
    """Yield a broker that only this module uses, because its tests stop it."""
    with running(LocalKafka()) as local:
        yield local


def _create_topic(broker: LocalKafka, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])[topic].result(30)


def _send(broker: LocalKafka, topic: str, value: bytes) -> KafkaError | None:
    outcomes: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.timeout.ms": 3_000, "log_level": 0})
    producer.produce(topic, value, timestamp=LONG_AGO_MILLISECONDS, on_delivery=lambda error, _: outcomes.append(error))
    producer.flush(30)
    return outcomes[0]


def _read_first(broker: LocalKafka, topic: str) -> tuple[bytes | None, tuple[int, int]]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": topic})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
        return message.value(), message.timestamp()
    finally:
        consumer.close()


def test_broker_loads_its_classes_from_the_archive(broker: LocalKafka) -> None:
    """The JVM has mapped the archive that `make setup` recorded."""
    assert broker.child is not None
    archive = archive_folder(broker_jars()) / class_archive.ARCHIVE
    assert str(archive) in Path(f"/proc/{broker.child.pid}/maps").read_text()


def test_killed_broker_restarts_with_its_address_and_records(broker: LocalKafka) -> None:
    """After `kill` and `start`, the address is the same and every acknowledged record is still there."""
    address = broker.bootstrap_servers
    _create_topic(broker, "kept", 1)
    assert _send(broker, "kept", b"record") is None

    broker.kill()
    broker.start()

    assert address == broker.bootstrap_servers
    assert _read_first(broker, "kept")[0] == b"record"


def test_record_has_the_append_time_of_the_broker(broker: LocalKafka) -> None:
    """The timestamp of a record comes from the broker's clock, not from the producer."""
    _create_topic(broker, "timed", 1)
    before_milliseconds = int(time.time() * 1_000)
    assert _send(broker, "timed", b"record") is None

    kind, timestamp_milliseconds = _read_first(broker, "timed")[1]

    assert kind == TIMESTAMP_LOG_APPEND_TIME
    assert before_milliseconds <= timestamp_milliseconds <= int(time.time() * 1_000)


def test_external_cluster_is_used_and_not_stopped(broker: LocalKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", broker.bootstrap_servers)

    with kafka_broker() as bootstrap_servers:
        assert broker.bootstrap_servers == bootstrap_servers

    assert broker.child is not None
    assert broker.child.is_running()


def test_unreachable_external_cluster_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unreachable address is an error at the start, because a query would wait silently."""
    dead = f"127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", dead)

    with (
        pytest.raises(RuntimeError, match=f"no Kafka broker responded at '{dead}'.*unset KAFKA_BOOTSTRAP_SERVERS"),
        kafka_broker(),
    ):
        pytest.fail("an unreachable address was accepted")
