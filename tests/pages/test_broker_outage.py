from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_rtm.realtime.failures import failure_of
from spark_rtm.realtime.keeper import Decision, Keeper, judge
from spark_rtm.realtime.queries import wait_until
from spark_rtm.services.kafka import LocalKafka
from spark_rtm.services.local_server import running
from tests.helpers import end_offset, eventually, kafka_rows, new_topic, produce, start_to_kafka, texts_of

pytestmark = [pytest.mark.spark, pytest.mark.services]

SHORT_TIMEOUTS = {"kafka.delivery.timeout.ms": "3000", "kafka.request.timeout.ms": "1000"}


@pytest.fixture(scope="module")
def broker() -> Iterator[LocalKafka]:
    """Yield a broker for target topics; the tests kill it."""
    with running(LocalKafka()) as local:
        yield local


def copy(
    spark: SparkSession, kafka: str, source: str, broker: LocalKafka, target: str, folder: Path, **options: str
) -> StreamingQuery:
    rows = kafka_rows(spark, kafka, source).select("value")
    return start_to_kafka(rows, broker.bootstrap_servers, folder / "copied", "5 minutes", topic=target, **options)


def test_outage_beyond_the_delivery_timeout_ends_the_query(
    spark: SparkSession, kafka: str, broker: LocalKafka, tmp_path: Path
) -> None:
    source, target = new_topic(kafka, 1), new_topic(broker.bootstrap_servers, 1)
    decisions: list[Decision] = []
    starter = partial(copy, spark, kafka, source, broker, target, tmp_path, **SHORT_TIMEOUTS)
    keeper = Keeper(spark, {"copied": starter}, on_decision=decisions.append)
    keeper.start()
    produce(kafka, source, [(0, b"before")])
    eventually(lambda: keeper.poll() and end_offset(broker.bootstrap_servers, target) == 1, 60, "the first row")

    broker.kill()
    produce(kafka, source, [(0, b"during")])

    def is_decided() -> bool:
        # The producer reports its error when the next row arrives.
        produce(kafka, source, [(0, b"later")])
        return keeper.poll() and bool(decisions)

    eventually(is_decided, 60, "a decision")
    broker.start()

    rows = 1 + end_offset(kafka, source)
    eventually(lambda: keeper.poll() and end_offset(broker.bootstrap_servers, target) == rows, 60, "all rows")
    written = texts_of(broker.bootstrap_servers, target)
    assert ["before", "before", "during"] == written[:3]
    assert {"later"} == set(written[3:])
    assert ["TimeoutException"] == [decision.failure.name for decision in decisions]
    assert "a server did not respond in time" in str(decisions[0])


def test_full_buffer_during_an_outage_ends_the_query(
    spark: SparkSession, kafka: str, broker: LocalKafka, tmp_path: Path
) -> None:
    """With the default delivery timeout, a row waits for space until `max.block.ms`, then the query fails."""
    source, target = new_topic(kafka, 1), new_topic(broker.bootstrap_servers, 1)
    small = {"kafka.buffer.memory": "40000", "kafka.max.block.ms": "2000"}
    query = copy(spark, kafka, source, broker, target, tmp_path, **small)
    produce(kafka, source, [(0, b"before")])
    wait_until(lambda: end_offset(broker.bootstrap_servers, target) == 1, 60, "the first row", [query])

    broker.kill()
    produce(kafka, source, [(0, b"0" * 10_000)] * 5)

    error = eventually(query.exception, 60, "the failure")
    broker.start()
    assert error is not None
    assert "BufferExhaustedException: Failed to allocate" in str(error)
    assert "within the configured max blocking time 2000 ms" in str(error)
    assert "a server did not respond in time" in str(judge(failure_of("copied", error, 0), []))


def test_outage_within_the_delivery_timeout_causes_no_duplicates(
    spark: SparkSession, kafka: str, broker: LocalKafka, tmp_path: Path
) -> None:
    source, target = new_topic(kafka, 1), new_topic(broker.bootstrap_servers, 1)
    query = copy(spark, kafka, source, broker, target, tmp_path)
    produce(kafka, source, [(0, b"before")])
    wait_until(lambda: end_offset(broker.bootstrap_servers, target) == 1, 60, "the first row", [query])

    broker.kill()
    produce(kafka, source, [(0, b"during")])
    broker.start()
    produce(kafka, source, [(0, b"after")])

    wait_until(lambda: end_offset(broker.bootstrap_servers, target) == 3, 60, "all rows", [query])
    assert ["before", "during", "after"] == texts_of(broker.bootstrap_servers, target)
