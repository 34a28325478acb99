"""A real broker, ours or another, behaves as the examples rely on."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from examples.services.child import free_ports, running
from examples.services.kafka import LocalKafka, kafka_broker
from tests.helpers import is_alive

pytestmark = pytest.mark.services

LONG_AGO_MILLISECONDS = 1_000


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalKafka]:
    """A broker of this module's own, because its tests end it."""
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


def test_killed_broker_comes_back_with_its_address_and_its_rows(broker: LocalKafka) -> None:
    """Clients need not be told anew where the broker is, and what it had acknowledged is still there."""
    address = broker.bootstrap_servers
    _create_topic(broker, "kept", 1)
    assert _send(broker, "kept", b"row") is None

    broker.kill()
    broker.start()

    assert address == broker.bootstrap_servers
    assert _read_first(broker, "kept")[0] == b"row"


def test_stopped_broker_comes_back_with_its_topics(broker: LocalKafka) -> None:
    """An orderly end keeps everything as well."""
    _create_topic(broker, "kept-in-order", 3)

    broker.stop()
    broker.start()

    topics = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=30).topics
    assert [0, 1, 2] == sorted(topics["kept-in-order"].partitions)


def test_row_carries_the_brokers_own_time(broker: LocalKafka) -> None:
    """Latency is read from the broker's clock, whatever time a producer claims."""
    _create_topic(broker, "timed", 1)
    before_milliseconds = int(time.time() * 1_000)
    assert _send(broker, "timed", b"row") is None

    kind, timestamp_milliseconds = _read_first(broker, "timed")[1]

    assert kind == TIMESTAMP_LOG_APPEND_TIME
    assert before_milliseconds <= timestamp_milliseconds <= int(time.time() * 1_000)


def test_unknown_topic_is_refused(broker: LocalKafka) -> None:
    """A mistyped topic name is an error and not a new topic."""
    error = _send(broker, "mistyped", b"row")

    assert error is not None
    assert "mistyped" not in AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=30).topics


def test_named_servers_are_used(broker: LocalKafka, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has a cluster names it, and no other is started or ended."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", broker.bootstrap_servers)

    with kafka_broker() as bootstrap_servers:
        assert broker.bootstrap_servers == bootstrap_servers

    assert broker.child is not None
    assert broker.child.is_running()


def test_named_servers_that_do_not_answer_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead address is an error at once, because a query would wait for it in silence."""
    dead = f"127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", dead)

    with pytest.raises(RuntimeError, match=f"No Kafka broker answers at '{dead}'.*unset the variable"), kafka_broker():
        pytest.fail("a dead address was accepted")


def test_taken_port_shows_the_brokers_own_words() -> None:
    """Whoever cannot start a broker reads why in the error."""
    with socket.create_server(("127.0.0.1", free_ports(1)[0])) as taken:
        local = LocalKafka(ports=[taken.getsockname()[1], *free_ports(1)])
        try:
            with pytest.raises(
                RuntimeError, match=r"Kafka broker ended while it was starting[\s\S]*Address already in use"
            ):
                local.start()
        finally:
            local.remove()


def test_block_that_ends_takes_broker_and_data_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of a local broker is left, not even after a failure."""
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    addresses = []

    def fail_with_a_broker() -> None:
        with kafka_broker() as bootstrap_servers:
            addresses.append(bootstrap_servers)
            raise ValueError("the job failed")

    with pytest.raises(ValueError, match="the job failed"):
        fail_with_a_broker()

    assert [] == list(tmp_path.iterdir())
    with pytest.raises(KafkaException):
        AdminClient({"bootstrap.servers": addresses[0], "log_level": 0}).list_topics(timeout=1)


def test_removed_broker_is_gone(broker: LocalKafka) -> None:
    """When removing returns, the process and its folder are gone."""
    assert broker.child is not None

    broker.remove()

    assert not is_alive(broker.child.pid)
    assert not broker.folder.exists()
