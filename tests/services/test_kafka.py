import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from spark_rtm.kafka.consumer import read_topic
from spark_rtm.services.child import free_ports
from spark_rtm.services.files import class_archive
from spark_rtm.services.kafka import LocalKafka, archive_folder, kafka_broker
from spark_rtm.services.local_server import running
from spark_rtm.services.packages import broker_jars

pytestmark = pytest.mark.services

LONG_AGO_MILLISECONDS = 1_000


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalKafka]:
    with running(LocalKafka()) as local:
        yield local


def test_broker_loads_its_classes_from_the_archive(broker: LocalKafka) -> None:
    """The JVM has mapped the archive that `make setup` recorded."""
    assert broker.child is not None
    archive = archive_folder(broker_jars()) / class_archive.ARCHIVE
    assert str(archive) in Path(f"/proc/{broker.child.pid}/maps").read_text()


def test_record_has_the_append_time_of_the_broker(broker: LocalKafka) -> None:
    """The timestamp of a record comes from the broker's clock, not from the producer."""
    servers, before_milliseconds = broker.bootstrap_servers, int(time.time() * 1_000)
    admin, producer = AdminClient({"bootstrap.servers": servers}), Producer({"bootstrap.servers": servers})
    admin.create_topics([NewTopic("timed", 1, 1)])["timed"].result(30)
    producer.produce("timed", b"record", timestamp=LONG_AGO_MILLISECONDS)
    assert 0 == producer.flush(30)

    (record,) = read_topic(servers, "timed", min_records=1)

    kind, timestamp_milliseconds = record.timestamp()
    assert kind == TIMESTAMP_LOG_APPEND_TIME
    assert before_milliseconds <= timestamp_milliseconds <= int(time.time() * 1_000)


def test_unreachable_external_cluster_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unreachable address is an error at the start, because a query would wait silently."""
    dead = f"127.0.0.1:{free_ports(1)[0]}"
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", dead)

    with (
        pytest.raises(RuntimeError, match=f"no Kafka broker responded at '{dead}'.*unset KAFKA_BOOTSTRAP_SERVERS"),
        kafka_broker(),
    ):
        pytest.fail("an unreachable address was accepted")
